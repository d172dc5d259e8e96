/** How the indexes of searches are named in a database. */

/** Their prefix; tables of the application must not begin with it. */
export const searchStart = 'filigree_search_'

export function isSearchName(name: string): boolean {
  return name.startsWith(searchStart)
}
