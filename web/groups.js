// In what the timeline is stacked: kinds of memory, modules, or the phases that blocks were born in.
import { PURPOSE_COLOURS, KIND_COLOURS, OTHER_COLOURS } from './dom.js';

const MOST = 11;

function byKind(view) {
  return { of: view.moments.classes.map((c) => c.purpose),
    groups: view.purposes.map((name, i) => ({ name, colour: PURPOSE_COLOURS[i] })) };
}

function byPhase(view) {
  return { of: view.moments.classes.map((c) => c.born),
    groups: view.kinds.map((name, i) => ({ name: 'allocated in ' + (i === 0 ? 'no phase' : i === 1 ? 'between phases' : name),
      colour: KIND_COLOURS[i] })) };
}

// What each module holds at the peak, with those below it.
function heldAtPeak(view, modules) {
  const held = new Float64Array(modules.length), state = view.moments.at(view.peakMoment);
  view.moments.classes.forEach((c, i) => {
    held[c.module] += state.held[i];
  });
  for (let i = modules.length - 1; i > 0; i--)
    if (modules[i].parent !== null) held[modules[i].parent] += held[i];
  return held;
}

// The largest nodes of the tree of which none is below another: the largest is opened until there
// are enough.
function split(modules, held) {
  const children = (node) => modules.map((m, i) => i).filter((i) => modules[i].parent === node);
  let nodes = children(null).filter((i) => i > 0);
  for (let open = true; open && nodes.length < MOST - 2;) {
    open = false;
    nodes.sort((a, b) => held[b] - held[a]);
    for (const node of nodes) {
      const below = children(node).filter((i) => held[i] > 0);
      if (below.length === 0 || nodes.length + below.length - 1 > MOST + 6) continue;
      nodes = nodes.filter((i) => i !== node).concat(below);
      nodes.own = (nodes.own || []).concat(node);
      open = true;
      break;
    }
  }
  return nodes.sort((a, b) => held[b] - held[a]).slice(0, MOST - 2);
}

function byModule(view) {
  const modules = view.scope.moments.modules, held = heldAtPeak(view, modules);
  const nodes = split(modules, held).filter((i) => held[i] > 0).sort((a, b) => a - b);
  const groups = nodes.map((node, i) => ({ name: moduleName(modules[node]), colour: OTHER_COLOURS[i % 10] }));
  const above = new Map(nodes.map((node, i) => [node, i]));
  groups.push({ name: 'other modules', colour: OTHER_COLOURS[10] }, { name: 'of no module', colour: OTHER_COLOURS[11] });
  const ofModule = modules.map((module, at) => {
    for (let i = at; i; i = modules[i].parent || 0) if (above.has(i)) return above.get(i);
    return at === 0 ? groups.length - 1 : groups.length - 2;
  });
  return { of: view.moments.classes.map((c) => ofModule[c.module]), groups };
}

export function moduleName(module) {
  return module.path || (module.class ? module.class : 'of no module');
}

export function grouped(view, by) {
  const made = (view.made ||= {});
  if (!made[by]) {
    made[by] = (by === 'module' ? byModule : by === 'phase' ? byPhase : byKind)(view);
    made[by].rows = view.moments.stacks(made[by].of, made[by].groups.length);
  }
  return made[by];
}

export function hasModules(view) {
  return view.scope.moments.modules.length > 1;
}
