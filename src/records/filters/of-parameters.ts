/** Marks lists of conditions that come from a URL's parameters: their faults name the parameter, not a place in the list. */
const lists = new WeakSet<object>()

/** Makes one filter of conditions that must all hold. */
export function allParameters(
  conditions: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  if (conditions.length === 0) return {}
  lists.add(conditions)
  return { and: conditions }
}

/** True for a list that `allParameters` has marked. */
export function areParameters(list: object): boolean {
  return lists.has(list)
}
