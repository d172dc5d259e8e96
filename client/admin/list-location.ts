/** The state of a list: its search, filter, order and page in the URL, and its pages and total in the entry of the history. */
import { columnsParameter, filterNames } from './filter.js'
import { containsPattern } from './like-pattern.js'
import { pathTo, pushPath, replacePath } from './navigation.js'
import { pageSize } from './pager.js'
import { toServerConditions } from './periods.js'
import type { RowTotal } from './row-total.js'
import { fieldOf, type RecordInfo } from './schema.js'

/** How the search text is matched. */
export type SearchMode = 'words' | 'anywhere' | 'prefix'

export interface ListState {
  /** The page, counted from 1. Undefined for a bookmark in the middle of a list. */
  readonly page?: number | undefined
  /** The queries of the previous pages: `after=…`, `offset=50`, or empty for the first page. */
  readonly pages?: readonly string[] | undefined
  readonly total?: RowTotal | undefined
}

/** A query parameter of the filter: `['status', 'open']`. */
export type Condition = readonly [name: string, value: string]

/** Parameters of the address that choose the page. */
const pageParameters = ['after', 'offset'] as const

export class ListLocation {
  searchMode: SearchMode

  /** @param params the parameters of the URL, which this changes */
  constructor(
    readonly record: RecordInfo,
    readonly params: URLSearchParams,
  ) {
    this.searchMode = this.firstSearchMode
  }

  /** Complete words if the record has a full-text search. */
  get firstSearchMode(): SearchMode {
    return this.record.search === true ? 'words' : 'anywhere'
  }

  get state(): ListState {
    return (history.state as ListState | null) ?? {}
  }

  /** Stores the state of the page that is shown. */
  replaceState(state: ListState): void {
    replacePath(this.#path(), state)
  }

  get search(): string {
    return this.params.get('search') ?? ''
  }

  /** Searches without a new entry of the history. */
  setSearch(text: string): void {
    if (text === '') this.params.delete('search')
    else this.params.set('search', text)
    this.#setPage('')
    replacePath(this.#path())
  }

  get order(): string {
    return this.params.get('orderBy') ?? ''
  }

  /** Orders by a column: ascending, descending, and not any more. */
  toggleOrder(order: string): void {
    if (this.order === `-${order}`) this.params.delete('orderBy')
    else this.params.set('orderBy', this.order === order ? `-${order}` : order)
    this.openFirstPage()
  }

  /** The columns of a saved view, or undefined if the address does not name them. */
  get columns(): readonly string[] | undefined {
    return this.params.get(columnsParameter)?.split(',')
  }

  setColumns(names: readonly string[]): void {
    this.params.set(columnsParameter, names.join(','))
    replacePath(this.#path(), this.state)
  }

  /** The query of a saved view: filter, search, order and columns. Equal states have equal queries. */
  stateWith(columns: readonly string[]): string {
    const params = new URLSearchParams(this.params)
    for (const name of pageParameters) params.delete(name)
    params.set(columnsParameter, columns.join(','))
    params.sort()
    return String(params)
  }

  /** Shows the state of a saved view, which the list already has, in the address. */
  replaceQuery(query: string): void {
    for (const name of [...this.params.keys()]) this.params.delete(name)
    for (const [name, value] of new URLSearchParams(query)) this.params.append(name, value)
    replacePath(this.#path(), this.state)
  }

  get isFiltered(): boolean {
    return this.search !== '' || filterNames(this.params).length > 0
  }

  setFilter(filter: readonly Condition[]): void {
    replaceFilter(this.params, filter)
    this.openFirstPage()
  }

  /** The path of the first page with another filter, and the search and order of this list. */
  pathWith(filter: readonly Condition[]): string {
    const params = new URLSearchParams(this.params)
    for (const name of pageParameters) params.delete(name)
    replaceFilter(params, filter)
    return withQuery(pathTo(this.record.path), params)
  }

  get #conditions(): Condition[] {
    return filterNames(this.params).flatMap((name) =>
      this.params.getAll(name).map((value) => [name, value] as const),
    )
  }

  /** The conditions of a field. */
  conditionsOf(field: string): Condition[] {
    return this.#conditions.filter(([name]) => isOfField(name, field))
  }

  /** The filter with other conditions of a field. */
  withField(field: string, conditions: readonly Condition[]): Condition[] {
    return [...this.#conditions.filter(([name]) => !isOfField(name, field)), ...conditions]
  }

  removeFilter(names: readonly string[]): void {
    for (const name of names) this.params.delete(name)
    this.openFirstPage()
  }

  get isFirstPage(): boolean {
    return pageParameters.every((name) => !this.params.has(name))
  }

  /** `after=…`, `offset=50`, or empty for the first page. */
  get pageQuery(): string {
    const query = new URLSearchParams()
    for (const name of pageParameters)
      if (this.params.has(name)) query.set(name, this.params.get(name) ?? '')
    return String(query)
  }

  #setPage(pageQuery: string): void {
    for (const name of pageParameters) this.params.delete(name)
    for (const [name, value] of new URLSearchParams(pageQuery)) this.params.set(name, value)
  }

  openFirstPage(): void {
    this.#setPage('')
    pushPath(this.#path())
  }

  /** @param page counted from 1 */
  openPage(page: number): void {
    this.#openPage(page, offsetOf(page), [])
  }

  /** @param after the cursor of the next page */
  openNextPage(after: string): void {
    const { page, pages = [] } = this.state
    const pageQuery = String(new URLSearchParams({ after }))
    this.#openPage(page && page + 1, pageQuery, [...pages, this.pageQuery])
  }

  openPreviousPage(): void {
    const { page = 1, pages = [] } = this.state
    const pageQuery = pages.at(-1) ?? offsetOf(page - 1)
    this.#openPage(Math.max(page - 1, 1), pageQuery, pages.slice(0, -1))
  }

  #openPage(page: number | undefined, pageQuery: string, pages: readonly string[]): void {
    const { total } = this.state
    this.#setPage(pageQuery)
    pushPath(this.#path(), { page, pages, total } satisfies ListState)
  }

  #path(): string {
    return withQuery(pathTo(this.record.path), this.params)
  }

  /** The path of the chart of the rows that match. */
  get figuresPath(): string {
    return withQuery(pathTo(this.record.path, 'figures'), this.toFilterParams())
  }

  /** The parameters of the rows that match, without order and page. */
  toFilterParams(more: Readonly<Record<string, string>> = {}): URLSearchParams {
    const params = this.toParams()
    params.delete('orderBy')
    for (const [name, value] of Object.entries(more)) params.set(name, value)
    return params
  }

  /** The parameters of the rows that match, in their order, without the page. */
  toParams(): URLSearchParams {
    const params = new URLSearchParams()
    for (const condition of this.#conditions)
      for (const [name, value] of toServerConditions(this.record, condition))
        params.append(name, value)
    if (this.search !== '') params.set(...this.#searchParameter())
    if (this.order !== '') params.set('orderBy', this.order)
    return params
  }

  #searchParameter(): [name: string, value: string] {
    const { search, searchMode } = this
    const { title } = this.record
    if (searchMode === 'words') return ['search', search]
    if (fieldOf(this.record, title)?.kind.isFreeText !== true) return [title, search]
    return searchMode === 'prefix'
      ? [`${title}.startsWith`, search]
      : [`${title}.ilike`, containsPattern(search)]
  }
}

/** Whether a parameter is a condition of a field: `due`, `due.gte`. */
const isOfField = (name: string, field: string): boolean => name.split('.', 1)[0] === field

function replaceFilter(params: URLSearchParams, filter: readonly Condition[]): void {
  for (const name of filterNames(params)) params.delete(name)
  for (const [name, value] of filter) params.append(name, value)
}

function withQuery(path: string, params: URLSearchParams): string {
  const text = String(params)
  return text === '' ? path : `${path}?${text}`
}

/** The query of a page, counted from 1. */
const offsetOf = (page: number): string =>
  page <= 1 ? '' : String(new URLSearchParams({ offset: String((page - 1) * pageSize()) }))
