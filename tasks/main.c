/* The command: parses, calls one library function, prints, maps to an exit code. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/freedom.h"
#include "tasks/verbs.h"

static const char usage[] =
    "plumb checks translations and lowerings of GPU kernels, without a GPU.\n"
    "\n"
    "  plumb check TASK.yaml...     both sides of each task, every stage, verdict, blame\n"
    "  plumb check REFERENCE.mlir CANDIDATE   the same without a task file\n"
    "  plumb lower FILE...          one side's ladder: run each step, run each stage, blame\n"
    "  plumb run FILE               run one stage (.mlir .ll .ptx .plumb), print its outputs\n"
    "  plumb run -- PROGRAM         run a program that uses CUDA, its kernels here\n"
    "  plumb show FILE              the stages and the programs they decode to\n"
    "  plumb ops [ptx|mlir|llvm]         what is understood\n"
    "\n"
    "plumb VERB --help shows a verb's flags. Exit codes: 0 accepted, 1 diverged or trapped,\n"
    "2 bad usage or bad input, 3 undecided or unsupported, 4 internal error.\n";

static const struct {
  const char *verb;
  const char *help;
} helps[] = {
    {"check",
     "plumb check TASK.yaml... [flags]\n"
     "plumb check REFERENCE.mlir CANDIDATE [--entry NAME] [--grid X,Y,Z] [--block X,Y,Z] [flags]\n"
     "\n"
     "  plumb check tasks/catalog/row-softmax/task.yaml\n"
     "  plumb check softmax.mlir softmax.cu --entry row_softmax --shape arg0=M,N \\\n"
     "        --shape result0=M,N --size N=1,31,1000 --grid M --block 256 \\\n"
     "        --arguments arg0,result0,N\n"
     "\n"
     "  --format F   text (default), json (an object a line), junit, sarif or html\n"
     "  -o FILE      the report goes to FILE\n"
     "  --save DIR   every stage as a file in DIR\n"
     "  --seed N     of the inputs and the schedule (default 0)\n"
     "  --steps N    lane-instructions after which an execution is stopped (default "
     "20000000000)\n"
     "  --jobs N     threads (default: all cores)\n"
     "  --model GPU  matrix instructions compute what that GPU's unit gives (a100, h100, ...);\n"
     "               default: products exact, one rounding at the end\n"
     "  --freedom L  how PTX is read where its specification leaves a choice, of\n"
     "               contract=unfused|fused (mul and add without a rounding suffix),\n"
     "               nan=canonical|quiet (payloads), try_wait=once|wait, order=seed|next (of\n"
     "               atomics), approx=nearest|edge (inside the error that is documented); the\n"
     "               first is the default. The report says where the other one gives other\n"
     "               results, and whether one of the two alone is accepted\n"
     "  --quiet      no progress\n"
     "\n"
     "Without a task file the reference's signature gives tensors, types and static shapes. Its\n"
     "arguments are called arg0, arg1, ..., its results result0, ...; a memref argument is "
     "compared\n"
     "after the run. A candidate is .cu, .ll, .ptx, .plumb, or .mlir with a kernel or a function "
     "of\n"
     "the same signature.\n"
     "  --size NAME=V,V...  values of a size, each is tried; an expression over others may stand\n"
     "                      for one. Sizes that are not given take 1, 7 and 33\n"
     "  --shape argK=M,N    names the dimensions of a tensor; without it dimension D is size dD\n"
     "  --grid, --block, --shared  of the kernel, in numbers or sizes: 'ceildiv(N, 256)'\n"
     "  --arguments A,B...  what the candidate takes, in order: tensors, sizes, expressions\n"
     "                      (default: the reference's arguments, then its results)\n"
     "  --entry NAME, --reference-entry NAME  the function, where there are several\n"
     "  --fill KIND,...     exact,normal,special by default; also uniform, zeros, ones, iota\n"
     "  --accept LEVEL      identical, bounded (default), or abs=1e-6,rel=1e-5,ulp=4\n"
     "  --arch sm_90\n"},
    {"lower",
     "plumb lower FILE [--pipeline P] [--to ptx] [--arch sm_90] --arg V... [--expect K=V...]\n"
     "plumb lower STAGE0 STAGE1... --arg V...\n"
     "\n"
     "  plumb lower sum.mlir --pipeline 'canonicalize,cse' --arg '[1,2,3]' --arg '[0]'\n"
     "\n"
     "  --pipeline P   MLIR passes (default: the stock pipeline to NVVM); --llvm-pipeline P: "
     "LLVM's\n"
     "  --to ptx       go on through LLVM IR and its passes to PTX\n"
     "  --arg V        once for each argument: 3, [1,2.5,nan,0x7fc00000], 2x3:[...], f16:[...],\n"
     "                 @file.npy, fill:KIND,seed\n"
     "  --expect K=V   the right values of argument K after the run (resultK for results)\n"
     "  --entry NAME, --grid X,Y,Z, --block X,Y,Z, --shared BYTES, --format, -o, --seed, --steps,\n"
     "  --jobs, --model GPU, --freedom L as in plumb check --help\n"},
    {"run",
     "plumb run FILE [--entry NAME] [--grid X,Y,Z] [--block X,Y,Z] [--shared BYTES] --arg V...\n"
     "\n"
     "  plumb run saxpy.ptx --grid 1 --block 4 --arg f32:[1,2,3,4] --arg f32:[0,0,0,0] --arg 2.0 "
     "--arg 4\n"
     "\n"
     "  --arg V      as in plumb lower --help; a lone number is a scalar parameter's value\n"
     "  --save DIR   each argument and result after the run as argK.npy, resultK.npy\n"
     "  --model GPU  matrix instructions as on that GPU (a100, h100, ...), else exact\n"
     "  --freedom L  as in plumb check --help\n"
     "  --format text|json, -o FILE, --seed N, --steps N, --jobs N\n"
     "\n"
     "plumb run [--arch sm_90] [--allow LIST] [--model GPU] [--freedom L] [--steps N] [--seed N]\n"
     "          [--jobs N] -- PROGRAM ARGUMENTS...\n"
     "\n"
     "  plumb run --arch sm_80 -- ./vectorAdd\n"
     "\n"
     "A program that uses CUDA's driver library, or was built with nvcc -cudart shared, "
     "unchanged;\n"
     "its kernels run here, with the checks on. The exit code is the program's.\n"
     "  --arch A     the device that the program sees (default sm_90)\n"
     "  --allow L    what is no fault, of: uninitialised, races\n"
     "  --steps N    lane-instructions after which a launch is stopped (default 20000000000)\n"
     "A note on stderr says of which kernel what it leaves depends on a freedom of PTX.\n"},
    {"show",
     "plumb show FILE [--stage N] [--pipeline P] [--to ptx]\n"
     "\n"
     "  plumb show tasks/catalog/transpose/transpose.mlir --to ptx --stage 3\n"},
    {"ops", "plumb ops [ptx|mlir|llvm]\n\n  plumb ops mlir\n"},
};

typedef struct command {
  plumb_verb_options o;
  const char *output;
  const char **sizes, **shapes;
  bool help;
} command;

static int fail(const plumb_diag *diag, plumb_status status) {
  char sentence[1400];
  plumb_diag_format(diag, sentence, sizeof sentence);
  fprintf(stderr, "plumb: %s\n", sentence);
  return plumb_status_exit_code(status);
}

static plumb_status parse_three(const char *flag, const char *text, uint32_t out[3],
                                plumb_diag *diag) {
  for (int i = 0; i < 3; i++) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || value == 0 || value > INT32_MAX || (*end && *end != ','))
      return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                        "%s takes X,Y,Z, each at least 1; got '%s'", flag, text);
    out[i] = (uint32_t)value;
    if (!*end) return PLUMB_OK;
    text = end + 1;
  }
  return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "%s takes at most three sizes", flag);
}

static plumb_status parse_count(const char *flag, const char *text, uint64_t *out,
                                plumb_diag *diag) {
  char *end;
  *out = strtoull(text, &end, 0);
  if (end == text || *end || *text == '-')
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "%s takes a number; got '%s'", flag, text);
  return PLUMB_OK;
}

enum {
  ENTRY = 256,
  GRID,
  BLOCK,
  SHARED,
  ARG,
  EXPECT,
  PIPELINE,
  LLVM_PIPELINE,
  TO,
  ARCH,
  STAGE,
  FORMAT,
  SAVE,
  SEED,
  STEPS,
  JOBS,
  QUIET,
  ALLOW,
  MODEL,
  FREEDOM,
  REFERENCE_ENTRY,
  SIZE,
  SHAPE,
  ARGUMENTS,
  FILL,
  ACCEPT,
  HELP
};

static const struct option flags[] = {{"entry", required_argument, NULL, ENTRY},
                                      {"grid", required_argument, NULL, GRID},
                                      {"block", required_argument, NULL, BLOCK},
                                      {"shared", required_argument, NULL, SHARED},
                                      {"arg", required_argument, NULL, ARG},
                                      {"expect", required_argument, NULL, EXPECT},
                                      {"pipeline", required_argument, NULL, PIPELINE},
                                      {"llvm-pipeline", required_argument, NULL, LLVM_PIPELINE},
                                      {"to", required_argument, NULL, TO},
                                      {"arch", required_argument, NULL, ARCH},
                                      {"stage", required_argument, NULL, STAGE},
                                      {"format", required_argument, NULL, FORMAT},
                                      {"save", required_argument, NULL, SAVE},
                                      {"seed", required_argument, NULL, SEED},
                                      {"steps", required_argument, NULL, STEPS},
                                      {"jobs", required_argument, NULL, JOBS},
                                      {"quiet", no_argument, NULL, QUIET},
                                      {"allow", required_argument, NULL, ALLOW},
                                      {"model", required_argument, NULL, MODEL},
                                      {"freedom", required_argument, NULL, FREEDOM},
                                      {"reference-entry", required_argument, NULL, REFERENCE_ENTRY},
                                      {"size", required_argument, NULL, SIZE},
                                      {"shape", required_argument, NULL, SHAPE},
                                      {"arguments", required_argument, NULL, ARGUMENTS},
                                      {"fill", required_argument, NULL, FILL},
                                      {"accept", required_argument, NULL, ACCEPT},
                                      {"help", no_argument, NULL, HELP},
                                      {NULL, 0, NULL, 0}};

static plumb_status apply_flag(command *c, int flag, const char *value, plumb_diag *diag) {
  plumb_verb_options *o = &c->o;
  uint64_t number;
  switch (flag) {
    case ENTRY:
      o->invocation.entry = value;
      return PLUMB_OK;
    case GRID:
      o->pair.grid = value;
      return PLUMB_OK;
    case BLOCK:
      o->pair.block = value;
      return PLUMB_OK;
    case SHARED:
      o->pair.shared = value;
      return PLUMB_OK;
    case ARG:
      o->invocation.arg_texts[o->invocation.arg_count++] = value;
      return PLUMB_OK;
    case EXPECT:
      o->expect[o->expect_count++] = value;
      return PLUMB_OK;
    case PIPELINE:
      o->pipeline = value;
      return PLUMB_OK;
    case LLVM_PIPELINE:
      o->llvm_pipeline = value;
      return PLUMB_OK;
    case TO:
      o->to_ptx = true;
      return strcmp(value, "ptx") == 0 ? PLUMB_OK
                                       : plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                                                    "--to '%s' is not known (known: ptx)", value);
    case ARCH:
      o->arch = value;
      return PLUMB_OK;
    case ALLOW:
      o->allow = value;
      return PLUMB_OK;
    case MODEL:
      o->model_name = value;
      return plumb_model_find(value, &o->model)
                 ? PLUMB_OK
                 : plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                              "--model '%s' is not known (known: %s)", value, plumb_model_names());
    case FREEDOM:
      return plumb_freedom_parse(value, &o->freedom)
                 ? PLUMB_OK
                 : plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                              "--freedom '%s' is not known (known: %s)", value,
                              plumb_freedom_names());
    case STAGE:
      PLUMB_TRY(parse_count("--stage", value, &number, diag));
      o->stage = number > 100000 ? 100000 : (int)number;
      return PLUMB_OK;
    case FORMAT:
      return plumb_format_from_text(value, &o->format)
                 ? PLUMB_OK
                 : plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0,
                              "--format '%s' is not known (known: text, json, junit, sarif, html)",
                              value);
    case SAVE:
      o->save = value;
      return PLUMB_OK;
    case SEED:
      return parse_count("--seed", value, &o->seed, diag);
    case STEPS:
      PLUMB_TRY(parse_count("--steps", value, &o->steps, diag));
      return o->steps ? PLUMB_OK
                      : plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "--steps must be at least 1");
    case JOBS:
      PLUMB_TRY(parse_count("--jobs", value, &number, diag));
      o->jobs = number > 1024 ? 1024 : (int)number;
      return PLUMB_OK;
    case QUIET:
      o->quiet = true;
      return PLUMB_OK;
    case REFERENCE_ENTRY:
      o->pair.reference_entry = value;
      return PLUMB_OK;
    case SIZE:
      c->sizes[o->pair.size_count++] = value;
      return PLUMB_OK;
    case SHAPE:
      c->shapes[o->pair.shape_count++] = value;
      return PLUMB_OK;
    case ARGUMENTS:
      o->pair.arguments = value;
      return PLUMB_OK;
    case FILL:
      o->pair.fills = value;
      return PLUMB_OK;
    case ACCEPT:
      o->pair.accept = value;
      return PLUMB_OK;
    case HELP:
      c->help = true;
      return PLUMB_OK;
    default:
      c->output = value;
      return PLUMB_OK;
  }
}

static plumb_status parse_flags(plumb_arena *arena, int argc, char **argv, command *c,
                                plumb_diag *diag) {
  *c = (command){.o = {.stage = -1}};
  c->o.invocation.launch = (plumb_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}};
  c->o.invocation.arg_texts = PLUMB_NEW_ARRAY(arena, const char *, (size_t)argc);
  c->o.expect = PLUMB_NEW_ARRAY(arena, const char *, (size_t)argc);
  c->o.files = PLUMB_NEW_ARRAY(arena, const char *, (size_t)argc);
  c->o.pair.sizes = c->sizes = PLUMB_NEW_ARRAY(arena, const char *, (size_t)argc);
  c->o.pair.shapes = c->shapes = PLUMB_NEW_ARRAY(arena, const char *, (size_t)argc);
  opterr = 0;
  int flag;
  for (int i = 1; strcmp(argv[0], "run") == 0 && i < argc; i++)
    if (strcmp(argv[i], "--") == 0) {
      c->o.program = argv + i + 1; /* what follows is the program's, flags too */
      argc = i;
    }
  while ((flag = getopt_long(argc, argv, ":o:", flags, NULL)) != -1) {
    if (flag == '?')
      return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "unknown flag '%s'; see plumb %s --help",
                        argv[optind - 1], argv[0]);
    if (flag == ':')
      return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "flag '%s' needs a value",
                        argv[optind - 1]);
    PLUMB_TRY(apply_flag(c, flag, optarg, diag));
  }
  while (optind < argc) c->o.files[c->o.file_count++] = argv[optind++];
  return PLUMB_OK;
}

/* Launches in numbers; `check` takes expressions over sizes instead. */
static plumb_status parse_launch(plumb_verb_options *o, plumb_diag *diag) {
  plumb_launch *launch = &o->invocation.launch;
  if (o->pair.grid) PLUMB_TRY(parse_three("--grid", o->pair.grid, launch->grid, diag));
  if (o->pair.block) PLUMB_TRY(parse_three("--block", o->pair.block, launch->block, diag));
  if (o->pair.shared)
    PLUMB_TRY(parse_count("--shared", o->pair.shared, &launch->shared_bytes, diag));
  return PLUMB_OK;
}

static int run_verb(plumb_arena *arena, const char *verb, command *c, plumb_text *out) {
  plumb_diag diag = {0};
  int code = 0;
  plumb_status status = PLUMB_OK;
  bool is_check = strcmp(verb, "check") == 0;
  if (!is_check) status = parse_launch(&c->o, &diag);
  if (status != PLUMB_OK) return fail(&diag, status);
  if (is_check)
    status = plumb_verb_check(arena, &c->o, out, &code, &diag);
  else if (c->o.program)
    status = plumb_verb_run_program(arena, &c->o, &diag);
  else if (strcmp(verb, "run") == 0)
    status = plumb_verb_run(arena, &c->o, out, &code, &diag);
  else if (strcmp(verb, "lower") == 0)
    status = plumb_verb_lower(arena, &c->o, out, &code, &diag);
  else if (strcmp(verb, "show") == 0)
    status = plumb_verb_show(arena, &c->o, out, &code, &diag);
  else
    status = plumb_verb_ops(arena, c->o.file_count ? c->o.files[0] : NULL, out, &code, &diag);
  return status == PLUMB_OK ? code : fail(&diag, status);
}

static int write_output(const plumb_text *out, const char *path) {
  FILE *file = path ? fopen(path, "wb") : stdout;
  bool ok = file && fwrite(out->data, 1, out->length, file) == out->length && fflush(file) == 0;
  if (path && file && fclose(file) != 0) ok = false;
  if (ok) return 0;
  fprintf(stderr, "plumb: %s: cannot write the output\n", path ? path : "standard output");
  return 2;
}

int main(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    fputs(usage, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  if (strcmp(argv[1], "--version") == 0) {
    puts("plumb 0.1.0");
    return 0;
  }
  const char *help = NULL;
  for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
    if (strcmp(helps[i].verb, argv[1]) == 0) help = helps[i].help;
  if (!help) {
    fprintf(stderr, "plumb: unknown verb '%s'\n\n%s", argv[1], usage);
    return 2;
  }
  plumb_arena *arena = plumb_arena_create();
  plumb_text line = plumb_text_create(arena);
  for (int i = 0; i < argc; i++) plumb_text_printf(&line, "%s%s", i ? " " : "", argv[i]);
  command c;
  plumb_diag diag = {0};
  plumb_status status = parse_flags(arena, argc - 1, argv + 1, &c, &diag);
  int code;
  if (status != PLUMB_OK) {
    code = fail(&diag, status);
  } else if (c.help) {
    fputs(help, stdout);
    code = 0;
  } else {
    c.o.command = line.data;
    plumb_text out = plumb_text_create(arena);
    code = run_verb(arena, argv[1], &c, &out);
    int write_code = out.length || c.output ? write_output(&out, c.output) : 0;
    if (write_code) code = write_code;
  }
  plumb_arena_destroy(arena);
  return code;
}
