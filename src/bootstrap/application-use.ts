/** Interceptors of the whole application: the `use` of `bootstrap`, and those of modules with `static everywhere`. */
import type { Problem } from '../errors/declaration-error.js'
import { resolveClass } from '../metadata/class-metadata.js'
import type { InterceptorClass } from '../extensions/interceptor.js'
import type { PlannedInterceptor } from '../serving/interceptors.js'
import type { Parts } from './module.js'
import type { Settings } from './options.js'
import { planUse, appliesEverywhere, type UseList } from './plan-seam.js'

export interface ApplicationUse {
  /** Around every route, outside the interceptors of modules. */
  readonly outside: readonly UseList[]
  /** Around requests without a route, and around the framework's own routes. */
  readonly framework: readonly PlannedInterceptor[]
}

export function planApplicationUse(
  { use }: Settings,
  { useLists }: Parts,
  problems: Problem[],
): ApplicationUse {
  const everywhere = useLists.map((list) => pick(list, true)).filter((list) => list.use.length > 0)
  const outside = [{ where: 'bootstrap', use }, ...everywhere]
  const framework = outside
    .flatMap((list) => planUse(list, problems))
    .filter(
      (stand) =>
        stand.position === 'gate' || (stand.position === 'body' && appliesEverywhere(stand)),
    )
  return { outside, framework }
}

/** Interceptors that modules list only for their own routes. */
export function forOwnRoutes(lists: readonly UseList[]): UseList[] {
  return lists.map((list) => pick(list, false))
}

function pick({ where, use }: UseList, everywhere: boolean): UseList {
  const isEverywhere = (reference: UseList['use'][number]): boolean =>
    (resolveClass(reference) as InterceptorClass | undefined)?.everywhere === true
  return { where, use: use.filter((reference) => isEverywhere(reference) === everywhere) }
}
