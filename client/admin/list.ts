/** The list view of a record, with search, filter, sorting, pages and live updates. The URL holds the state of the list. */
import { request, usesStoredToken, api, rowsOf, statusOf } from './requests.js'
import { el, icon, listen, put, replace, type Child, clearAlerts, showError } from './element.js'
import { type RecordInfo, fieldOf, may, schema, textKinds, type Row } from './schema.js'
import { createClient } from '../index.js'
import { createLive } from '../live.js'
import { makeBar, type Bar, describeCondition, filterNames, makeFilter } from './list-bar.js'
import { hasBulkActions, makeBulkBar } from './row-actions.js'
import { columnChoice, type Column, RowTable } from './table.js'
import { link, pathTo, pushPath, replacePath } from './navigation.js'
import { escapeLike } from './titles.js'
import { openView, type View } from './view.js'
import { withCount, lower } from './format.js'

const pageSize = 25

const client = createClient()
const live = createLive(client)

/** How the search text is matched. */
type SearchMode = 'words' | 'anywhere' | 'beginnings'

interface PageState {
  /** The cursors of the previous pages. The cursor of the first page is empty. */
  readonly pages?: readonly string[]
  readonly total?: string
}

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
  readonly #previous = el('button', { type: 'button' }, icon('left'), 'Previous page')
  readonly #next = el('button', { type: 'button' }, 'Next page', icon('right'))
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
    this.#searchBox = el('input', {
      ...{ type: 'search', 'aria-label': `Search ${lower(record.label)}`, placeholder: 'Search' },
      ...{ value: query.get('search') ?? '', autocomplete: 'off', enterkeyhint: 'search' },
    })
    this.#bar = makeBar({
      searchBox: this.#searchBox,
      search: () => this.#search(),
      panels: [
        {
          ...{ name: 'Filter', drawn: 'filter' },
          make: () => makeFilter(record, query, (filter) => this.#applyFilter(filter)),
        },
        {
          ...{ name: 'Columns', drawn: 'columns' },
          make: () =>
            columnChoice(record, async () => {
              this.#table.readColumns()
              await this.#load()
            }),
        },
      ],
    })
    const bulk = makeBulkBar(record, {
      keys: () => this.#table.chosen,
      clearSelection: () => {
        this.#table.chooseNone()
        this.#table.focus()
      },
      reload: async () => {
        this.#table.chooseNone()
        await this.#load()
        this.#table.focus()
      },
    })
    this.#table = new RowTable(record, {
      hasBoxes: hasBulkActions(record),
      order: (column) => this.#order(column),
      onChosen: bulk.show,
    })
    put(view.tools, ...this.#tools())
    view.show(
      this.#bar.node,
      this.#bar.panel,
      this.#chips,
      bulk.node,
      el(
        'div',
        { class: 'card rows' },
        el('div', { class: 'scroll' }, this.#table.node),
        this.#empty,
      ),
      el('div', { class: 'pager' }, this.#total, this.#previous, this.#next),
    )
  }

  async start(): Promise<void> {
    this.view.signal.addEventListener('abort', () => {
      this.#stop()
    })
    listen(this.#next, 'click', async () => {
      if (this.#after === undefined) return
      const { pages = [] } = stateOf()
      await this.#goToPage(this.#after, [...pages, this.query.get('after') ?? ''])
      if (this.#next.disabled) this.#previous.focus()
    })
    listen(this.#previous, 'click', async () => {
      const { pages = [] } = stateOf()
      await this.#goToPage(pages.at(-1) ?? '', pages.slice(0, -1))
      if (this.#previous.disabled) this.#next.focus()
    })
    await this.#load()
  }

  #tools(): Child[] {
    const { record } = this
    const at = (name: string): string => pathTo(record.path, name)
    return [
      link(at('figures'), { class: 'button quiet' }, icon('chart'), 'Figures'),
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

  async #goToPage(after: string, pages: readonly string[]): Promise<void> {
    const { total } = stateOf()
    if (after === '') this.query.delete('after')
    else this.query.set('after', after)
    pushPath(this.#address(), { pages, total } satisfies PageState)
    await this.#load()
    this.#table.node.scrollIntoView({ block: 'nearest' })
  }

  /** Loads the first page after the query has changed. */
  async #loadFirst(): Promise<void> {
    this.query.delete('after')
    pushPath(this.#address())
    await this.#load()
  }

  async #search(): Promise<void> {
    const text = this.#searchBox.value.trim()
    if (text === (this.query.get('search') ?? '')) return
    if (text === '') this.query.delete('search')
    else this.query.set('search', text)
    this.query.delete('after')
    replacePath(this.#address())
    await this.#load()
  }

  async #applyFilter(filter: readonly (readonly [string, string])[]): Promise<void> {
    for (const name of filterNames(this.query)) this.query.delete(name)
    for (const [name, value] of filter) this.query.append(name, value)
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
    else if (text !== '' && title !== undefined && textKinds.has(title.kind)) {
      if (this.#searchMode === 'beginnings') params.set(`${record.title}.startsWith`, text)
      else params.set(`${record.title}.ilike`, `%${escapeLike(text)}%`)
    } else if (text !== '') params.set(record.title, text)
    const order = this.query.get('orderBy')
    if (order !== null) params.set('orderBy', order)
    return params
  }

  async #requestPage(way: SearchMode) {
    this.#searchMode = way
    const after = this.query.get('after')
    const params = this.#filter()
    params.set('fields', this.#table.fields)
    params.set('limit', String(pageSize))
    if (after !== null) params.set('after', after)
    if (after !== null) params.set('count', 'none')
    const path = `${rowsOf(this.record)}?${String(params)}`
    return { path, response: await request<Row[]>('GET', path, { signal: this.view.signal }) }
  }

  /** Searches for complete words first, then for the text anywhere. Large tables allow prefixes only. */
  async #find() {
    const isFirst = !this.query.has('after')
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

  async #load(): Promise<void> {
    const loadNumber = ++this.#loadCount
    this.#stop()
    const { record, view } = this
    const { pages = [], total } = stateOf()
    const isFirst = !this.query.has('after')
    const table = this.#table.node
    table.setAttribute('aria-busy', 'true')
    let found
    try {
      found = await this.#find()
    } finally {
      if (loadNumber === this.#loadCount) table.removeAttribute('aria-busy')
    }
    if (loadNumber !== this.#loadCount || !view.isOpen()) return
    const { path, response: said } = found
    // The status message stays, for example "Ticket was deleted".
    clearAlerts()
    this.#after = nextOf(said.headers.get('Link'))
    const text = isFirst ? this.#totalOf(said.headers, said.data.length) : (total ?? '')
    if (isFirst) replacePath(this.#address(), { pages: [], total: text } satisfies PageState)
    const page = pages.length + 1
    this.#total.textContent = [text, page > 1 ? `page ${page}` : ''].filter(Boolean).join(', ')
    this.#previous.disabled = isFirst
    this.#next.disabled = this.#after === undefined
    await this.#draw(said.data)
    this.#drawChips().catch(showError)
    if (schema()?.live !== true || record.key !== 'id' || loadNumber !== this.#loadCount) return
    client.configure({ auth: usesStoredToken() })
    let isLive = false
    this.#stop = live(path, (rows: Row[]) => {
      if (loadNumber !== this.#loadCount || !view.isOpen()) return
      // The first rows are already visible, so do not highlight them.
      this.#draw(rows, isLive).catch(showError)
      isLive = true
    })
  }

  #totalOf(headers: Headers, rowCount: number): string {
    const exact = headers.get('X-Total-Count')
    const about = headers.get('X-Total-Count-Estimate')
    if (exact !== null) return withCount(Number(exact), this.record)
    if (about !== null) return `About ${withCount(Number(about), this.record)}`
    return this.#after === undefined ? withCount(rowCount, this.record) : ''
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
        const text = await describeCondition(this.record, name, this.query.get(name) ?? '')
        const remove = async (): Promise<void> => {
          this.query.delete(name)
          await this.#loadFirst()
        }
        const label = `Remove ${typeof text === 'string' ? text : name}`
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
      ...{ class: 'button quiet', href: address(), download: `${record.path}.csv` },
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
