/**
 * Decides which module's `use` applies to which routes: to the module's own routes and to the routes of the modules
 * that it imports. A package's `use` counts as if the importing module had listed it.
 */
import type { Class } from '../metadata/class-metadata.js'
import type { UseList } from './plan-interceptors.js'

/** A module in the graph of imports. */
export interface ModuleNode {
  readonly imports: readonly Class[]
  readonly controllers: readonly Class[]
  /** True if it was made by `createModule`. */
  readonly isPackage: boolean
  readonly use: UseList
}

type Modules = ReadonlyMap<Class, ModuleNode>

/** @returns the lists for each controller, the lists of importing modules first */
export function useByController(modules: Modules, root: Class): Map<Class, readonly UseList[]> {
  const order = importersFirst(modules, root)
  const covered = coveredModules(modules, order)
  const lists = new Map<Class, readonly UseList[]>()
  for (const controller of order.flatMap((module) => modules.get(module)?.controllers ?? [])) {
    const owners = order.filter((module) => modules.get(module)?.controllers.includes(controller))
    const around = order.filter((module) => owners.some((owner) => covered.get(module)?.has(owner)))
    lists.set(
      controller,
      around.flatMap((module) => modules.get(module)?.use ?? []),
    )
  }
  return lists
}

/** For each module, the modules whose routes its `use` applies to. */
function coveredModules(
  modules: Modules,
  order: readonly Class[],
): ReadonlyMap<Class, ReadonlySet<Class>> {
  const reachableFrom = new Map(
    order.map((module) => [module, reachable(modules, module, () => true)]),
  )
  const covered = new Map(order.map((module) => [module, new Set(reachableFrom.get(module))]))
  for (const importer of order) {
    // For a package within a package, the importer of the outer one counts.
    const isPackage = (module: Class): boolean => modules.get(module)?.isPackage === true
    for (const imported of reachable(modules, importer, isPackage)) {
      for (const module of reachableFrom.get(importer) ?? []) covered.get(imported)?.add(module)
    }
  }
  return covered
}

/** The module and all modules that it imports, directly or through others, as far as `goOn` allows. */
function reachable(
  modules: Modules,
  from: Class,
  goOn: (module: Class) => boolean,
): ReadonlySet<Class> {
  const found = new Set([from])
  for (const module of found) {
    for (const imported of modules.get(module)?.imports ?? [])
      if (goOn(imported)) found.add(imported)
  }
  return found
}

/** Each module before the modules that it imports, packages first; otherwise in the order of declaration. */
function importersFirst(modules: Modules, root: Class): Class[] {
  const order: Class[] = []
  const visited = new Set<Class>()
  const visit = (module: Class): void => {
    if (visited.has(module)) return
    visited.add(module)
    const imports = modules.get(module)?.imports.toReversed() ?? []
    const isPackage = (imported: Class): boolean => modules.get(imported)?.isPackage === true
    // The list is reversed at the end.
    for (const imported of imports) if (!isPackage(imported)) visit(imported)
    for (const imported of imports) if (isPackage(imported)) visit(imported)
    order.push(module)
  }
  visit(root)
  return order.reverse()
}
