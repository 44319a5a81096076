/* Graphs: nodes with what each waits for; an exec is a copy in an order that can be run. */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

static void *grown(void *array, size_t *capacity, size_t needed, size_t element_bytes) {
  if (needed <= *capacity) return array;
  *capacity = *capacity * 2 > needed ? *capacity * 2 : needed + 8;
  array = realloc(array, *capacity * element_bytes);
  if (!array) abort(); /* as an arena: exhausted memory ends the process */
  return array;
}

driver_graph *driver_graph_create(void) {
  driver_graph *g = calloc(1, sizeof *g);
  if (!g) abort();
  driver_handle_put(g, DRIVER_KIND_GRAPH, g);
  return g;
}

static void destroy_node(driver_node *n) {
  driver_handle_drop(n);
  driver_operation_clear(&n->op);
  free(n->param_list);
  free(n->needs);
  free(n);
}

void driver_graph_destroy(driver_graph *g) {
  for (size_t i = 0; i < g->node_count; i++) destroy_node(g->nodes[i]);
  driver_handle_drop(g);
  free(g->nodes);
  free(g);
}

int driver_node_need(driver_node *node, driver_node *needed) {
  if (!node || !needed || node->graph != needed->graph || node == needed)
    return DRIVER_INVALID_VALUE;
  for (size_t i = 0; i < node->need_count; i++)
    if (node->needs[i] == needed) return DRIVER_OK;
  node->needs = grown(node->needs, &node->need_capacity, node->need_count + 1, sizeof *node->needs);
  node->needs[node->need_count++] = needed;
  return DRIVER_OK;
}

driver_node *driver_graph_add(driver_graph *g, driver_node *const *needs, size_t need_count,
                              driver_operation *op) {
  driver_node *n = calloc(1, sizeof *n);
  if (!n) abort();
  n->graph = g;
  n->op = *op;
  *op = (driver_operation){.kind = DRIVER_EMPTY};
  g->nodes = grown(g->nodes, &g->node_capacity, g->node_count + 1, sizeof *g->nodes);
  g->nodes[g->node_count++] = n;
  driver_handle_put(n, DRIVER_KIND_NODE, n);
  for (size_t i = 0; i < need_count; i++) driver_node_need(n, needs[i]);
  return n;
}

int driver_node_add(void **out, const void *graph, void *const *needs, size_t need_count,
                    driver_operation *op) {
  driver_graph *g = driver_handle_get(graph, DRIVER_KIND_GRAPH);
  bool ok = out && g && (!need_count || needs);
  for (size_t i = 0; ok && i < need_count; i++) {
    const driver_node *n = driver_handle_get(needs[i], DRIVER_KIND_NODE);
    ok = n && n->graph == g;
  }
  if (ok)
    *out = driver_graph_add(g, (driver_node *const *)needs, need_count, op);
  else
    driver_operation_clear(op);
  return ok ? DRIVER_OK : DRIVER_INVALID_VALUE;
}

void **driver_node_params(driver_node *n) {
  const plumb_function *fn = n->op.launch.function->fn;
  n->param_list = realloc(n->param_list, (fn->param_count + 1) * sizeof *n->param_list);
  if (!n->param_list) abort();
  for (size_t i = 0; i < fn->param_count; i++)
    n->param_list[i] = n->op.launch.params + fn->params[i].offset;
  return n->param_list;
}

int driver_node_replace(driver_node *n, driver_operation *op) {
  if (!n || n->op.kind != op->kind) {
    driver_operation_clear(op);
    return DRIVER_INVALID_VALUE;
  }
  driver_operation_clear(&n->op);
  n->op = *op;
  return DRIVER_OK;
}

void driver_graph_remove(driver_graph *g, driver_node *node) {
  size_t kept = 0;
  for (size_t i = 0; i < g->node_count; i++) {
    driver_node *n = g->nodes[i];
    size_t needs = 0;
    for (size_t k = 0; k < n->need_count; k++)
      if (n->needs[k] != node) n->needs[needs++] = n->needs[k];
    n->need_count = needs;
    if (n != node) g->nodes[kept++] = n;
  }
  g->node_count = kept;
  destroy_node(node);
}

driver_graph *driver_graph_clone(driver_graph *g) {
  driver_graph *clone = driver_graph_create();
  for (size_t i = 0; i < g->node_count; i++) {
    driver_operation op = driver_operation_copy(&g->nodes[i]->op);
    g->nodes[i]->copy = driver_graph_add(clone, NULL, 0, &op);
    g->nodes[i]->copy->copy = g->nodes[i];
  }
  for (size_t i = 0; i < g->node_count; i++)
    for (size_t k = 0; k < g->nodes[i]->need_count; k++)
      driver_node_need(g->nodes[i]->copy, g->nodes[i]->needs[k]->copy);
  return clone;
}

/* --- execs --- */

/* Puts every node behind what it waits for, else in the order of creation. */
static bool sort(driver_graph *g) {
  driver_node **sorted = malloc((g->node_count + 1) * sizeof *sorted);
  if (!sorted) abort();
  size_t done = 0;
  for (size_t i = 0; i < g->node_count; i++) g->nodes[i]->order = UINT32_MAX;
  for (bool progress = true; progress && done < g->node_count;) {
    progress = false;
    for (size_t i = 0; i < g->node_count; i++) {
      driver_node *n = g->nodes[i];
      bool ready = n->order == UINT32_MAX;
      for (size_t k = 0; ready && k < n->need_count; k++) ready = n->needs[k]->order != UINT32_MAX;
      if (!ready) continue;
      n->order = (uint32_t)done;
      sorted[done++] = n;
      progress = true;
    }
  }
  bool ok = done == g->node_count;
  if (ok && done) memcpy(g->nodes, sorted, done * sizeof *sorted);
  free(sorted);
  return ok;
}

int driver_exec_create(driver_graph *g, driver_exec **out) {
  driver_graph *clone = driver_graph_clone(g);
  if (!sort(clone)) {
    driver_graph_destroy(clone);
    return DRIVER_INVALID_VALUE;
  }
  driver_exec *e = calloc(1, sizeof *e);
  if (!e) abort();
  e->graph = clone;
  driver_handle_put(e, DRIVER_KIND_EXEC, e);
  *out = e;
  return DRIVER_OK;
}

void driver_exec_destroy(driver_exec *e) {
  driver_handle_drop(e);
  driver_graph_destroy(e->graph);
  free(e);
}

int driver_exec_run(driver_device *d, driver_exec *e) {
  for (size_t i = 0; i < e->graph->node_count; i++)
    if (!e->graph->nodes[i]->disabled) DRIVER_TRY(driver_operation_run(d, &e->graph->nodes[i]->op));
  return DRIVER_OK;
}

driver_node *driver_exec_node(driver_exec *e, const driver_node *original) {
  for (size_t i = 0; i < e->graph->node_count; i++)
    if (e->graph->nodes[i]->copy == original) return e->graph->nodes[i];
  return NULL;
}

int driver_exec_update(driver_exec *e, driver_graph *g) {
  driver_exec *fresh;
  DRIVER_TRY(driver_exec_create(g, &fresh));
  bool same = fresh->graph->node_count == e->graph->node_count;
  for (size_t i = 0; same && i < e->graph->node_count; i++) {
    const driver_node *a = e->graph->nodes[i], *b = fresh->graph->nodes[i];
    same = a->op.kind == b->op.kind && a->need_count == b->need_count;
  }
  if (same) {
    driver_graph *old = e->graph;
    e->graph = fresh->graph;
    fresh->graph = old;
  }
  driver_exec_destroy(fresh);
  return same ? DRIVER_OK : DRIVER_GRAPH_UPDATE_FAILURE;
}
