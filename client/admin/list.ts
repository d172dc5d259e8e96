/** The rows of a record: found, ordered, chosen, page by page. The address holds what is asked for. */
import { ask, byToken, api, rowsOf, statusOf } from './requests.js'
import { el, icon, listen, put, replace, type Child, clearAlerts, refuse } from './element.js'
import { type RecordInfo, fieldOf, may, schema, texts, type Row } from './schema.js'
import { createClient } from '../index.js'
import { createLive } from '../live.js'
import { makeBar, type Bar, describeCondition, filterNames, makeFilter } from './list-bar.js'
import { hasBulk, makeBulkBar } from './row-actions.js'
import { columnChoice, type Column, RowTable } from './table.js'
import { link, pathTo, push, rename } from './navigation.js'
import { escapeLike } from './titles.js'
import { openView, type View } from './view.js'
import { counted, lower } from './format.js'

const pageSize = 25

const client = createClient()
const live = createLive(client)

/** How what is typed is looked for. */
type Way = 'words' | 'anywhere' | 'beginnings'

interface PageState {
  /** The cursors of the pages before this one, the first is empty. */
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
  #way: Way
  #stop: () => void = () => undefined
  #turn = 0

  constructor(
    readonly record: RecordInfo,
    readonly view: View,
    readonly query: URLSearchParams,
  ) {
    this.#way = record.search === true ? 'words' : 'anywhere'
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
      none: () => {
        this.#table.chooseNone()
        this.#table.focus()
      },
      done: async () => {
        this.#table.chooseNone()
        await this.#load()
        this.#table.focus()
      },
    })
    this.#table = new RowTable(record, {
      hasBoxes: hasBulk(record),
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
      await this.#turnTo(this.#after, [...pages, this.query.get('after') ?? ''])
      if (this.#next.disabled) this.#previous.focus()
    })
    listen(this.#previous, 'click', async () => {
      const { pages = [] } = stateOf()
      await this.#turnTo(pages.at(-1) ?? '', pages.slice(0, -1))
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

  async #turnTo(after: string, pages: readonly string[]): Promise<void> {
    const { total } = stateOf()
    if (after === '') this.query.delete('after')
    else this.query.set('after', after)
    push(this.#address(), { pages, total } satisfies PageState)
    await this.#load()
    this.#table.node.scrollIntoView({ block: 'nearest' })
  }

  /** Goes to the first page of what the address now asks for. */
  async #loadFirst(): Promise<void> {
    this.query.delete('after')
    push(this.#address())
    await this.#load()
  }

  async #search(): Promise<void> {
    const text = this.#searchBox.value.trim()
    if (text === (this.query.get('search') ?? '')) return
    if (text === '') this.query.delete('search')
    else this.query.set('search', text)
    this.query.delete('after')
    rename(this.#address())
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

  /** The conditions of the list, without its page. */
  #filter(): URLSearchParams {
    const asked = new URLSearchParams()
    for (const name of filterNames(this.query))
      for (const value of this.query.getAll(name)) asked.append(name, value)
    const { record } = this
    const text = this.query.get('search') ?? ''
    const title = fieldOf(record, record.title)
    if (text !== '' && this.#way === 'words') asked.set('search', text)
    else if (text !== '' && title !== undefined && texts.has(title.kind)) {
      if (this.#way === 'beginnings') asked.set(`${record.title}.startsWith`, text)
      else asked.set(`${record.title}.ilike`, `%${escapeLike(text)}%`)
    } else if (text !== '') asked.set(record.title, text)
    const order = this.query.get('orderBy')
    if (order !== null) asked.set('orderBy', order)
    return asked
  }

  async #askFor(way: Way) {
    this.#way = way
    const after = this.query.get('after')
    const asked = this.#filter()
    asked.set('fields', this.#table.fields)
    asked.set('limit', String(pageSize))
    if (after !== null) asked.set('after', after)
    if (after !== null) asked.set('count', 'none')
    const path = `${rowsOf(this.record)}?${String(asked)}`
    return { path, said: await ask<Row[]>('GET', path, { signal: this.view.signal }) }
  }

  /** Words are found whole; what is typed may be a part of one. Large tables are searched by beginnings alone. */
  async #find() {
    const isFirst = !this.query.has('after')
    const first = this.record.search === true ? 'words' : 'anywhere'
    const isSearch = this.query.has('search') && isFirst
    const orBeginnings = (error: unknown) => {
      if (!isSearch || statusOf(error) !== 400) throw error
      return this.#askFor('beginnings')
    }
    const found = await this.#askFor(isFirst ? first : this.#way).catch(orBeginnings)
    if (found.said.data.length > 0 || !isSearch || first !== 'words') return found
    return this.#askFor('anywhere').catch(orBeginnings)
  }

  async #load(): Promise<void> {
    const turn = ++this.#turn
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
      if (turn === this.#turn) table.removeAttribute('aria-busy')
    }
    if (turn !== this.#turn || !view.isOpen()) return
    const { path, said } = found
    // What was said on the way here stays: a row was deleted.
    clearAlerts()
    this.#after = nextOf(said.headers.get('Link'))
    const words = isFirst ? this.#totalOf(said.headers, said.data.length) : (total ?? '')
    if (isFirst) rename(this.#address(), { pages: [], total: words } satisfies PageState)
    const page = pages.length + 1
    this.#total.textContent = [words, page > 1 ? `page ${page}` : ''].filter(Boolean).join(', ')
    this.#previous.disabled = isFirst
    this.#next.disabled = this.#after === undefined
    await this.#draw(said.data)
    this.#drawChips().catch(refuse)
    if (schema()?.live !== true || record.key !== 'id' || turn !== this.#turn) return
    client.configure({ auth: byToken() })
    let isLive = false
    this.#stop = live(path, (rows: Row[]) => {
      if (turn !== this.#turn || !view.isOpen()) return
      // The first are those that are shown already.
      this.#draw(rows, isLive).catch(refuse)
      isLive = true
    })
  }

  #totalOf(headers: Headers, shown: number): string {
    const exact = headers.get('X-Total-Count')
    const about = headers.get('X-Total-Count-Estimate')
    if (exact !== null) return counted(Number(exact), this.record)
    if (about !== null) return `About ${counted(Number(about), this.record)}`
    return this.#after === undefined ? counted(shown, this.record) : ''
  }

  async #draw(rows: readonly Row[], isLive = false): Promise<void> {
    const { record } = this
    await this.#table.lookUp(rows)
    if (!this.view.isOpen()) return
    this.#table.draw(rows, this.query.get('orderBy') ?? '', isLive)
    this.#empty.hidden = rows.length > 0
    const isFiltered = this.query.has('search') || filterNames(this.query).length > 0
    const one = lower(record.one)
    const words = isFiltered ? `No ${one} matches.` : `There is no ${one} yet.`
    const all = isFiltered && link(pathTo(record.path), { class: 'button' }, 'Show all')
    replace(this.#empty, el('p', {}, words), all)
  }

  async #drawChips(): Promise<void> {
    const names = filterNames(this.query)
    const items = await Promise.all(
      names.map(async (name) => {
        const words = await describeCondition(this.record, name, this.query.get(name) ?? '')
        const remove = async (): Promise<void> => {
          this.query.delete(name)
          await this.#loadFirst()
        }
        const label = `Remove ${typeof words === 'string' ? words : name}`
        return el(
          'li',
          {},
          words,
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

/** @param address with the list's filter as it is now */
function exportLink(address: () => string, record: RecordInfo): HTMLElement {
  const anchor = el(
    'a',
    {
      ...{ class: 'button quiet', href: address(), download: `${record.path}.csv` },
      onclick: async (event) => {
        anchor.href = address()
        // A link sends the cookie, but no token that scripts keep.
        if (!byToken()) return
        event.preventDefault()
        const { data } = await ask<string>('GET', address())
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
