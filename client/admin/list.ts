/** The list view of a record, with search, filter, sorting, pages and live updates. The URL holds the state of the list. */
import { request, usesStoredToken, api, rowsOf, statusOf, fieldErrorsOf } from './requests.js'
import { el, icon, put, replace, type Child, clearAlerts, showError } from './element.js'
import {
  type RecordInfo,
  fieldOf,
  keyOf,
  labelAt,
  may,
  schema,
  type Row,
  withLabel,
} from './schema.js'
import { createClient } from '../index.js'
import { createLive } from '../live.js'
import { describeCondition, filterNames, makeFilter } from './filter.js'
import { makeBar, type Bar } from './list-bar.js'
import { makePager, pageSize, type Pager } from './pager.js'
import { type BulkBar, hasBulkActions, makeBulkBar } from './row-actions.js'
import { columnChoice, type Column, RowTable } from './table.js'
import { link, pathTo, pushPath, replacePath } from './navigation.js'
import { escapeLike } from './titles.js'
import { openView, type View } from './view.js'
import { withCount, lower, toCount } from './format.js'

const client = createClient()
const live = createLive(client)

/** How the search text is matched. */
type SearchMode = 'words' | 'anywhere' | 'beginnings'

interface PageState {
  /** The page, counted from 1. Undefined for a bookmark in the middle of a list. */
  readonly page?: number | undefined
  /** The queries of the previous pages: `after=…`, `offset=50`, or empty for the first page. */
  readonly pages?: readonly string[]
  readonly total?: Total | undefined
}

interface Total {
  readonly count: number
  readonly isAbout: boolean
}

/** Tables with more rows are not counted exactly, because counting reads all of them. */
const maxCountedRows = 1_000_000
/** A load that takes longer says so. In milliseconds. */
const silentTime = 250

const stateOf = (): PageState => (history.state as PageState | null) ?? {}

export async function showList(record: RecordInfo, query: URLSearchParams): Promise<void> {
  const view = openView(record, record.label, false)
  await new ListView(record, view, query).start()
}

class ListView {
  readonly #table: RowTable
  readonly #bar: Bar
  readonly #empty = el('div', { class: 'empty', hidden: true })
  readonly #total = el('p', { class: 'total', 'aria-live': 'polite' })
  readonly #pager: Pager
  readonly #bulk: BulkBar
  /** Leads to the chart of the rows that match. */
  readonly #chartLink: HTMLAnchorElement
  readonly #chips = el('ul', { class: 'chips', 'aria-label': 'Filter in use' })
  readonly #searchBox: HTMLInputElement
  #after: string | undefined
  #searchMode: SearchMode
  #stop: () => void = () => undefined
  #loadCount = 0

  constructor(
    readonly record: RecordInfo,
    readonly view: View,
    readonly query: URLSearchParams,
  ) {
    this.#searchMode = record.search === true ? 'words' : 'anywhere'
    const chartPath = pathTo(record.path, 'figures')
    this.#chartLink = link(chartPath, { class: 'button quiet' }, icon('chart'), 'Figures')
    this.#searchBox = el('input', {
      type: 'search',
      'aria-label': `Search ${lower(record.label)}`,
      placeholder: 'Search',
      value: query.get('search') ?? '',
      autocomplete: 'off',
      enterkeyhint: 'search',
      dir: 'auto',
    })
    this.#bar = makeBar({
      searchBox: this.#searchBox,
      search: () => this.#search(),
      panels: [
        {
          name: 'Filter',
          icon: 'filter',
          make: () => makeFilter(record, query, (filter) => this.#applyFilter(filter)),
        },
        {
          name: 'Columns',
          icon: 'columns',
          make: () =>
            columnChoice(record, async () => {
              this.#table.readColumns()
              await this.#load()
            }),
        },
      ],
    })
    this.#bulk = makeBulkBar(record, {
      keys: () => this.#table.selected,
      clearSelection: () => {
        this.#table.select([])
        this.#table.focus()
      },
      selectAll: (report) => this.#selectAll(report),
      reload: async () => {
        this.#table.select([])
        await this.#load()
        this.#table.focus()
      },
    })
    this.#table = new RowTable(record, {
      hasBoxes: hasBulkActions(record),
      order: (column) => this.#order(column),
      onSelect: () => {
        this.#showBulk()
      },
    })
    this.#pager = makePager({
      previous: () => this.#goBack(),
      next: () => this.#goForward(),
      jump: (page) => this.#goToPage(page, offsetOf(page)),
      resize: () => this.#loadFirst(),
    })
    put(view.tools, ...this.#tools())
    view.aside.replaceChildren(this.#total)
    view.show(
      this.#bar.node,
      this.#bar.panel,
      this.#chips,
      this.#bulk.node,
      el(
        'div',
        { class: 'card rows' },
        el('div', { class: 'scroll' }, this.#table.node),
        this.#empty,
      ),
      this.#pager.node,
    )
  }

  async start(): Promise<void> {
    this.view.signal.addEventListener('abort', () => {
      this.#stop()
    })
    await this.#load()
    this.view.settle()
  }

  #tools(): Child[] {
    const { record } = this
    const at = (name: string): string => pathTo(record.path, name)
    return [
      this.#chartLink,
      record.history === true &&
        link(at('history'), { class: 'button quiet' }, icon('clock'), 'History'),
      exportLink(() => `${api(`csv/${record.path}`)}?${String(this.#filter())}`, record),
      (may(record, 'c') || may(record, 'u')) &&
        link(at('import'), { class: 'button quiet' }, icon('in'), 'Import'),
      may(record, 'c') &&
        link(at('new'), { class: 'button main' }, icon('plus'), `New ${lower(record.one)}`),
    ]
  }

  #address(): string {
    const text = String(this.query)
    return pathTo(this.record.path) + (text === '' ? '' : `?${text}`)
  }

  /** @param pageQuery `after=…`, `offset=50`, or empty for the first page */
  async #goToPage(
    page: number | undefined,
    pageQuery: string,
    pages: readonly string[] = [],
  ): Promise<void> {
    const { total } = stateOf()
    for (const name of pageParameters) this.query.delete(name)
    for (const [name, value] of new URLSearchParams(pageQuery)) this.query.set(name, value)
    pushPath(this.#address(), { page, pages, total } satisfies PageState)
    await this.#load()
    scrollTo(0, 0)
    this.#table.focusFirstRow()
  }

  /** The query of this page. */
  #pageQuery(): string {
    const pageQuery = new URLSearchParams()
    for (const name of pageParameters)
      if (this.query.has(name)) pageQuery.set(name, this.query.get(name) ?? '')
    return String(pageQuery)
  }

  async #goForward(): Promise<void> {
    if (this.#after === undefined) return
    const { page, pages = [] } = stateOf()
    const pageQuery = String(new URLSearchParams({ after: this.#after }))
    await this.#goToPage(page && page + 1, pageQuery, [...pages, this.#pageQuery()])
  }

  async #goBack(): Promise<void> {
    const { page = 1, pages = [] } = stateOf()
    const pageQuery = pages.at(-1) ?? offsetOf(page - 1)
    await this.#goToPage(Math.max(page - 1, 1), pageQuery, pages.slice(0, -1))
  }

  #showBulk(): void {
    const { total } = stateOf()
    const count = this.#table.selected.length
    const canOffer = this.#table.isPageSelected && this.#pageCount() !== 1
    const isAll = total !== undefined && !total.isAbout && count >= total.count
    const all =
      total === undefined ? '' : ` ${total.isAbout ? 'about ' : ''}${toCount(total.count)}`
    this.#bulk.show(count, canOffer && !isAll ? `Select all${all} that match` : undefined)
  }

  /** Reads the keys of all rows that match, 1,000 per request. */
  async #selectAll(report: (count: number) => void): Promise<void> {
    const { record, view } = this
    const params = this.#filter()
    params.delete('orderBy')
    const more = { orderBy: record.key, fields: record.key, limit: '1000', count: 'none' }
    for (const [name, value] of Object.entries(more)) params.set(name, value)
    const keys: string[] = []
    for (;;) {
      const path = `${rowsOf(record)}?${String(params)}`
      const { data, headers } = await request<Row[]>('GET', path, { signal: view.signal })
      for (const row of data) keys.push(keyOf(record, row))
      report(keys.length)
      const after = nextOf(headers.get('Link'))
      if (after === undefined) break
      params.set('after', after)
    }
    this.#table.select(keys)
    this.#setTotal({ count: keys.length, isAbout: false })
  }

  /** Loads the first page after the query has changed. */
  async #loadFirst(): Promise<void> {
    for (const name of pageParameters) this.query.delete(name)
    pushPath(this.#address())
    await this.#load()
  }

  async #search(): Promise<void> {
    const text = this.#searchBox.value.trim()
    if (text === (this.query.get('search') ?? '')) return
    if (text === '') this.query.delete('search')
    else this.query.set('search', text)
    for (const name of pageParameters) this.query.delete(name)
    this.#table.select([])
    replacePath(this.#address())
    await this.#load()
  }

  async #applyFilter(filter: readonly (readonly [string, string])[]): Promise<void> {
    for (const name of filterNames(this.query)) this.query.delete(name)
    for (const [name, value] of filter) this.query.append(name, value)
    this.#table.select([])
    this.#bar.close()
    await this.#loadFirst()
  }

  async #order(column: Column): Promise<void> {
    const { order } = column
    const now = this.query.get('orderBy')
    if (order === undefined) return
    if (now === order) this.query.set('orderBy', `-${order}`)
    else if (now === `-${order}`) this.query.delete('orderBy')
    else this.query.set('orderBy', order)
    await this.#loadFirst()
    this.#table.focusHead(column)
  }

  /** The filter and order of the list, without the page. */
  #filter(): URLSearchParams {
    const params = new URLSearchParams()
    for (const name of filterNames(this.query))
      for (const value of this.query.getAll(name)) params.append(name, value)
    const { record } = this
    const text = this.query.get('search') ?? ''
    const title = fieldOf(record, record.title)
    if (text !== '' && this.#searchMode === 'words') params.set('search', text)
    else if (text !== '' && title?.kind.isFreeText === true) {
      if (this.#searchMode === 'beginnings') params.set(`${record.title}.startsWith`, text)
      else params.set(`${record.title}.ilike`, `%${escapeLike(text)}%`)
    } else if (text !== '') params.set(record.title, text)
    const order = this.query.get('orderBy')
    if (order !== null) params.set('orderBy', order)
    return params
  }

  async #requestPage(way: SearchMode) {
    this.#searchMode = way
    const params = this.#filter()
    params.set('fields', this.#table.fields)
    params.set('limit', String(pageSize()))
    for (const [name, value] of new URLSearchParams(this.#pageQuery())) params.set(name, value)
    if (!this.#isFirst()) params.set('count', 'none')
    const path = `${rowsOf(this.record)}?${String(params)}`
    return { path, response: await request<Row[]>('GET', path, { signal: this.view.signal }) }
  }

  /** Searches for complete words first, then for the text anywhere. Large tables allow prefixes only. */
  async #find() {
    const isFirst = this.#isFirst()
    const first = this.record.search === true ? 'words' : 'anywhere'
    const isSearch = this.query.has('search') && isFirst
    const orPrefixes = (error: unknown) => {
      if (!isSearch || statusOf(error) !== 400) throw error
      return this.#requestPage('beginnings')
    }
    const found = await this.#requestPage(isFirst ? first : this.#searchMode).catch(orPrefixes)
    if (found.response.data.length > 0 || !isSearch || first !== 'words') return found
    return this.#requestPage('anywhere').catch(orPrefixes)
  }

  #isFirst(): boolean {
    return pageParameters.every((name) => !this.query.has(name))
  }

  async #load(): Promise<void> {
    const loadNumber = ++this.#loadCount
    this.#stop()
    const { view } = this
    const isFirst = this.#isFirst()
    let found
    const hideLoading = this.#showLoading()
    try {
      found = await this.#find()
    } catch (error) {
      if (loadNumber !== this.#loadCount) return
      hideLoading()
      throw this.#withLabels(error)
    }
    if (loadNumber !== this.#loadCount || !view.isOpen()) return
    hideLoading()
    const { path, response } = found
    // The status message stays, for example "Ticket was deleted".
    clearAlerts()
    this.#after = nextOf(response.headers.get('Link'))
    if (isFirst) {
      const total = this.#totalOf(response.headers, response.data.length)
      replacePath(this.#address(), { page: 1, pages: [], total } satisfies PageState)
    }
    this.#setTotal(stateOf().total)
    await this.#draw(response.data)
    this.#drawChips().catch(showError)
    this.#chartLink.href = this.#chartPath()
    if (stateOf().total?.isAbout === true) this.#count(loadNumber).catch(showError)
    if (schema()?.live !== true || this.record.key !== 'id' || loadNumber !== this.#loadCount)
      return
    client.configure({ auth: usesStoredToken() })
    let isLive = false
    this.#stop = live(path, (rows: Row[]) => {
      if (loadNumber !== this.#loadCount || !view.isOpen()) return
      // The first rows are already visible, so do not highlight them.
      this.#draw(rows, isLive).catch(showError)
      isLive = true
    })
  }

  /** Says that the list loads, if it takes a moment. @returns a function that ends this */
  #showLoading(): () => void {
    const table = this.#table.node
    table.setAttribute('aria-busy', 'true')
    const isEmpty = table.querySelector('tbody tr') === null
    const timer = setTimeout(() => {
      this.#total.textContent = 'Loading…'
      if (!isEmpty) return
      replace(this.#empty, el('p', {}, `Loading ${lower(this.record.label)}…`))
      this.#empty.hidden = false
    }, silentTime)
    return () => {
      clearTimeout(timer)
      table.removeAttribute('aria-busy')
      if (this.#total.textContent === 'Loading…') this.#total.textContent = ''
    }
  }

  /** Names fields by their labels in the errors of a filter: `Priority must be an integer`. */
  #withLabels(error: unknown): unknown {
    const errors = fieldErrorsOf(error)
    if (errors.length === 0) return error
    const messages = errors.map(({ path, message }) =>
      withLabel(message, path, labelAt(this.record, path.split('.')[0] ?? '')),
    )
    return new Error(messages.join('; '))
  }

  /** Counts rows exactly, so that the list and its chart show the same number. */
  async #count(loadNumber: number): Promise<void> {
    const { total } = stateOf()
    if (total === undefined || total.count > maxCountedRows) return
    const params = this.#filter()
    params.delete('orderBy')
    for (const [name, value] of Object.entries({ limit: '0', count: 'exact' }))
      params.set(name, value)
    const path = `${rowsOf(this.record)}?${String(params)}`
    const { headers } = await request('GET', path, { signal: this.view.signal })
    const count = Number(headers.get('X-Total-Count'))
    if (loadNumber !== this.#loadCount || !this.view.isOpen()) return
    this.#setTotal({ count, isAbout: false })
  }

  /** Shows the number of rows, and stores it for the next pages. */
  #setTotal(total: Total | undefined): void {
    const { record } = this
    const { page, pages } = stateOf()
    replacePath(this.#address(), { page, pages, total } satisfies PageState)
    this.#total.textContent =
      total === undefined ? '' : `${total.isAbout ? 'About ' : ''}${withCount(total.count, record)}`
    this.#pager.show({
      page,
      pageCount: this.#pageCount(),
      isAbout: total?.isAbout === true,
      hasPrevious: !this.#isFirst(),
      hasNext: this.#after !== undefined,
    })
    this.#showBulk()
  }

  #pageCount(): number | undefined {
    const { total } = stateOf()
    return total && Math.max(1, Math.ceil(total.count / pageSize()))
  }

  #chartPath(): string {
    const params = this.#filter()
    params.delete('orderBy')
    const text = String(params)
    return pathTo(this.record.path, 'figures') + (text === '' ? '' : `?${text}`)
  }

  #totalOf(headers: Headers, rowCount: number): Total | undefined {
    const exact = headers.get('X-Total-Count')
    const about = headers.get('X-Total-Count-Estimate')
    if (exact !== null) return { count: Number(exact), isAbout: false }
    if (about !== null) return { count: Number(about), isAbout: true }
    return this.#after === undefined ? { count: rowCount, isAbout: false } : undefined
  }

  async #draw(rows: readonly Row[], isLive = false): Promise<void> {
    const { record } = this
    await this.#table.lookUp(rows)
    if (!this.view.isOpen()) return
    this.#table.draw(rows, this.query.get('orderBy') ?? '', isLive)
    this.#empty.hidden = rows.length > 0
    const isFiltered = this.query.has('search') || filterNames(this.query).length > 0
    const one = lower(record.one)
    const text = isFiltered ? `No ${one} matches.` : `There is no ${one} yet.`
    const all = isFiltered && link(pathTo(record.path), { class: 'button' }, 'Show all')
    replace(this.#empty, el('p', {}, text), all)
  }

  async #drawChips(): Promise<void> {
    const names = filterNames(this.query)
    const items = await Promise.all(
      names.map(async (name) => {
        const text = await describeCondition(this.record, name, this.query.getAll(name).join(','))
        const remove = async (): Promise<void> => {
          this.query.delete(name)
          await this.#loadFirst()
        }
        const label = `Remove ${text}`
        return el(
          'li',
          {},
          text,
          el('button', { type: 'button', 'aria-label': label, onclick: remove }, icon('cross')),
        )
      }),
    )
    this.#chips.hidden = items.length === 0
    replace(this.#chips, ...items)
  }
}

/** Parameters of the address that choose the page. */
const pageParameters = ['after', 'offset'] as const

/** The query of a page, counted from 1. */
const offsetOf = (page: number): string =>
  page <= 1 ? '' : String(new URLSearchParams({ offset: String((page - 1) * pageSize()) }))

/** The cursor of the next page. */
function nextOf(header: string | null): string | undefined {
  const address = /<([^>]*)>;\s*rel="?next"?/.exec(header ?? '')?.[1]
  if (address === undefined) return undefined
  return new URL(address, location.origin).searchParams.get('after') ?? undefined
}

/** A link that downloads the list as CSV. @param address returns the URL with the current filter */
function exportLink(address: () => string, record: RecordInfo): HTMLElement {
  const anchor = el(
    'a',
    {
      class: 'button quiet',
      href: address(),
      download: `${record.path}.csv`,
      onclick: async (event) => {
        anchor.href = address()
        // A link sends the cookie, but not a token from the local storage.
        if (!usesStoredToken()) return
        event.preventDefault()
        const { data } = await request<string>('GET', address())
        const url = URL.createObjectURL(new Blob([data], { type: 'text/csv' }))
        el('a', { href: url, download: `${record.path}.csv` }).click()
        setTimeout(() => {
          URL.revokeObjectURL(url)
        }, 60_000)
      },
    },
    icon('out'),
    'Export CSV',
  )
  return anchor
}
