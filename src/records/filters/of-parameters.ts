/** Conditions that the parameters of a query are: faults are told by a parameter's name, and not by its place among them. */
const lists = new WeakSet<object>()

/** A filter that all of them must hold for. */
export function allParameters(
  conditions: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  if (conditions.length === 0) return {}
  lists.add(conditions)
  return { and: conditions }
}

export function areParameters(list: object): boolean {
  return lists.has(list)
}
