/** The rows of a record: found, ordered, chosen, page by page. The address holds what is asked for. */
import { createClient } from '../index.js'
import { createLive } from '../live.js'
import { api, ask, byToken, rowsOf } from './ask.js'
import { bulkButtons } from './bulk.js'
import { cellOf, chosenColumns, columnChoice, isNumber, type Column } from './columns.js'
import { exportLink } from './export.js'
import { el, icon, listen, newId, put, replace, type Child } from './element.js'
import { describeCondition, filterNames, makeFilter } from './filters.js'
import { statusOf } from './faults.js'
import { hush, refuse } from './notice.js'
import { link, pathTo, rename } from './route.js'
import { fieldOf, keyOf, may, schema, texts, titleOf, type RecordInfo, type Row } from './schema.js'
import { escapeLike, lookUp } from './titles.js'
import { openView, type View } from './view.js'
import { counted, lower } from './words.js'

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
  readonly #rows = el('tbody')
  readonly #head = el('tr')
  readonly #table: HTMLTableElement
  readonly #empty = el('div', { class: 'empty', hidden: true })
  readonly #bulk = el('div', {
    class: 'bulk',
    role: 'group',
    'aria-label': 'Chosen rows',
    hidden: true,
  })
  readonly #bulkCount = el('span', { role: 'status', class: 'count' })
  readonly #total = el('p', { class: 'total', 'aria-live': 'polite' })
  readonly #previous = el('button', { type: 'button' }, icon('left'), 'Previous page')
  readonly #next = el('button', { type: 'button' }, 'Next page', icon('right'))
  readonly #chips = el('ul', { class: 'chips', 'aria-label': 'Filter in use' })
  readonly #panel = el('div', {})
  readonly #all = el('input', { type: 'checkbox', 'aria-label': 'Choose all' })
  readonly #chosen = new Set<string>()
  readonly #drawn = new Map<string, { text: string; node: HTMLTableRowElement }>()
  readonly #searchBox: HTMLInputElement
  #columns: Column[]
  #shown: readonly Row[] = []
  #after: string | undefined
  #way: Way
  #stop: () => void = () => undefined
  #turn = 0

  constructor(
    readonly record: RecordInfo,
    readonly view: View,
    readonly query: URLSearchParams,
  ) {
    this.#columns = chosenColumns(record)
    this.#way = record.search === true ? 'words' : 'anywhere'
    const caption = el('caption', { class: 'unseen' }, record.label)
    this.#table = el('table', {}, caption, el('thead', {}, this.#head), this.#rows)
    this.#searchBox = el('input', {
      ...{ type: 'search', 'aria-label': `Search ${lower(record.label)}`, placeholder: 'Search' },
      ...{ value: query.get('search') ?? '', autocomplete: 'off', enterkeyhint: 'search' },
    })
  }

  async start(): Promise<void> {
    const { record, view } = this
    this.#listen()
    view.signal.addEventListener('abort', () => {
      this.#stop()
    })
    put(view.tools, ...this.#tools())
    put(
      this.#bulk,
      this.#bulkCount,
      ...bulkButtons(
        record,
        () => [...this.#chosen],
        () => this.#done(),
      ),
      this.#none(),
    )
    view.show(
      this.#bar(),
      this.#panel,
      this.#chips,
      this.#bulk,
      el('div', { class: 'card rows' }, el('div', { class: 'scroll' }, this.#table), this.#empty),
      el('div', { class: 'pager' }, this.#total, this.#previous, this.#next),
    )
    await this.#load()
  }

  #tools(): Child[] {
    const { record } = this
    const at = (name: string): string => pathTo(record.path, name)
    return [
      link(at('figures'), { class: 'button quiet' }, icon('chart'), 'Figures'),
      exportLink(() => `${api(`csv/${record.path}`)}?${String(this.#filter())}`, record),
      may(record, 'c') && link(at('import'), { class: 'button quiet' }, icon('in'), 'Import'),
      may(record, 'c') &&
        link(at('new'), { class: 'button main' }, icon('plus'), `New ${lower(record.one)}`),
    ]
  }

  #none(): HTMLElement {
    return el(
      'button',
      {
        ...{ type: 'button', class: 'quiet' },
        onclick: () => {
          this.#chosen.clear()
          this.#showChosen()
          this.#all.focus()
        },
      },
      'Choose none',
    )
  }

  #bar(): HTMLElement {
    const { record } = this
    const opener = (
      name: string,
      drawn: 'filter' | 'columns',
      make: () => HTMLElement,
    ): HTMLElement => {
      const id = newId()
      const button = el('button', {
        ...{ type: 'button', 'aria-expanded': 'false', 'aria-controls': id },
        onclick: () => {
          const isOpen = button.getAttribute('aria-expanded') === 'true'
          for (const other of bar.querySelectorAll('[aria-expanded]'))
            other.setAttribute('aria-expanded', 'false')
          replace(this.#panel)
          if (isOpen) return
          button.setAttribute('aria-expanded', 'true')
          const panel = make()
          panel.id = id
          panel.classList.add('card')
          listen(panel, 'keydown', (event) => {
            if ((event as KeyboardEvent).key !== 'Escape') return
            button.click()
            button.focus()
          })
          replace(this.#panel, panel)
          panel.querySelector<HTMLElement>('input:not([disabled]), select')?.focus()
        },
      })
      put(button, icon(drawn), name)
      return button
    }
    const bar: HTMLElement = el(
      'div',
      { class: 'bar' },
      el(
        'form',
        { role: 'search', class: 'search', onsubmit: (event) => this.#search(event) },
        icon('search'),
        this.#searchBox,
      ),
      opener('Filter', 'filter', () =>
        makeFilter(record, this.query, (filter) => this.#applyFilter(filter, bar)),
      ),
      opener('Columns', 'columns', () =>
        columnChoice(record, async () => {
          this.#columns = chosenColumns(record)
          this.#drawn.clear()
          await this.#load()
        }),
      ),
    )
    return bar
  }

  #listen(): void {
    let timer: ReturnType<typeof setTimeout> | undefined
    listen(this.#searchBox, 'input', () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (this.view.isOpen()) this.#search().catch(refuse)
      }, 300)
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
    listen(this.#all, 'change', () => {
      for (const row of this.#shown)
        if (this.#all.checked) this.#chosen.add(keyOf(this.record, row))
        else this.#chosen.delete(keyOf(this.record, row))
      this.#showChosen()
    })
  }

  #address(): string {
    const text = String(this.query)
    return pathTo(this.record.path) + (text === '' ? '' : `?${text}`)
  }

  async #turnTo(after: string, pages: readonly string[]): Promise<void> {
    const { total } = stateOf()
    if (after === '') this.query.delete('after')
    else this.query.set('after', after)
    history.pushState({ pages, total } satisfies PageState, '', this.#address())
    await this.#load()
    this.#table.scrollIntoView({ block: 'nearest' })
  }

  async #search(event?: Event): Promise<void> {
    event?.preventDefault()
    const text = this.#searchBox.value.trim()
    if (text === (this.query.get('search') ?? '')) return
    if (text === '') this.query.delete('search')
    else this.query.set('search', text)
    this.query.delete('after')
    rename(this.#address())
    await this.#load()
  }

  async #applyFilter(
    filter: readonly (readonly [string, string])[],
    bar: HTMLElement,
  ): Promise<void> {
    for (const name of filterNames(this.query)) this.query.delete(name)
    for (const [name, value] of filter) this.query.append(name, value)
    this.query.delete('after')
    history.pushState(null, '', this.#address())
    const button = bar.querySelector<HTMLElement>('[aria-expanded=true]')
    button?.click()
    button?.focus()
    await this.#load()
  }

  async #order(column: Column): Promise<void> {
    const { order } = column
    const now = this.query.get('orderBy')
    if (order === undefined) return
    if (now === order) this.query.set('orderBy', `-${order}`)
    else if (now === `-${order}`) this.query.delete('orderBy')
    else this.query.set('orderBy', order)
    this.query.delete('after')
    history.pushState(null, '', this.#address())
    await this.#load()
    this.#head.querySelector<HTMLElement>(`[data-name="${CSS.escape(column.name)}"]`)?.focus()
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

  async #load(): Promise<void> {
    const turn = ++this.#turn
    this.#stop()
    const { record, view } = this
    const columns = this.#columns
    const fields = new Set([record.key, record.title, ...columns.map(({ field }) => field.name)])
    const { pages = [], total } = stateOf()
    const after = this.query.get('after')
    const askFor = async (way: Way) => {
      this.#way = way
      const asked = this.#filter()
      asked.set('fields', [...fields].join(','))
      asked.set('limit', String(pageSize))
      if (after !== null) asked.set('after', after)
      if (after !== null) asked.set('count', 'none')
      const path = `${rowsOf(record)}?${String(asked)}`
      return { path, said: await ask<Row[]>('GET', path, { signal: view.signal }) }
    }
    this.#table.setAttribute('aria-busy', 'true')
    let found
    try {
      const isSearch = this.query.has('search') && after === null
      const first = record.search === true ? 'words' : 'anywhere'
      const isTooMuch = (error: unknown): boolean => isSearch && statusOf(error) === 400
      found = await askFor(after === null ? first : this.#way).catch((error: unknown) => {
        if (!isTooMuch(error)) throw error
        return askFor('beginnings')
      })
      // Words are found whole; what is typed may be a part of one. Large tables are searched by beginnings alone.
      if (found.said.data.length === 0 && isSearch && first === 'words')
        found = await askFor('anywhere').catch((error: unknown) => {
          if (!isTooMuch(error)) throw error
          return askFor('beginnings')
        })
    } finally {
      if (turn === this.#turn) this.#table.removeAttribute('aria-busy')
    }
    if (turn !== this.#turn || !view.isOpen()) return
    const { path, said } = found
    hush()
    this.#after = nextOf(said.headers.get('Link'))
    const words = after === null ? this.#totalOf(said.headers, said.data.length) : (total ?? '')
    if (after === null) history.replaceState({ pages: [], total: words } satisfies PageState, '')
    const page = pages.length + 1
    this.#total.textContent = [words, page > 1 ? `page ${page}` : ''].filter(Boolean).join(', ')
    this.#previous.disabled = after === null
    this.#next.disabled = this.#after === undefined
    await this.#draw(said.data)
    this.#drawChips().catch(refuse)
    if (schema()?.live !== true || record.key !== 'id' || turn !== this.#turn) return
    client.configure({ auth: byToken() })
    this.#stop = live(path, (rows: Row[]) => {
      if (turn !== this.#turn || !view.isOpen()) return
      this.#draw(rows).catch(refuse)
    })
  }

  #totalOf(headers: Headers, shown: number): string {
    const exact = headers.get('X-Total-Count')
    const about = headers.get('X-Total-Count-Estimate')
    if (exact !== null) return counted(Number(exact), this.record)
    if (about !== null) return `About ${counted(Number(about), this.record)}`
    return this.#after === undefined ? counted(shown, this.record) : ''
  }

  async #draw(rows: readonly Row[]): Promise<void> {
    const { record } = this
    const columns = this.#columns
    await Promise.all(
      columns.flatMap(({ target, field }) =>
        target === undefined
          ? []
          : [
              lookUp(
                target,
                rows.map((row) => row[field.name]),
              ),
            ],
      ),
    )
    if (!this.view.isOpen()) return
    this.#shown = rows
    this.#drawHead()
    const focused = document.activeElement
    const nodes = rows.map((row) => this.#rowOf(row))
    const isSame =
      nodes.length === this.#rows.children.length &&
      nodes.every((node, index) => node === this.#rows.children[index])
    if (!isSame) this.#rows.replaceChildren(...nodes)
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    const isAny = rows.length > 0
    this.#table.hidden = !isAny
    this.#empty.hidden = isAny
    const isFiltered = this.query.has('search') || filterNames(this.query).length > 0
    replace(
      this.#empty,
      el(
        'p',
        {},
        isFiltered ? `No ${lower(record.one)} matches.` : `There is no ${lower(record.one)} yet.`,
      ),
    )
    const keys = new Set(rows.map((row) => keyOf(record, row)))
    for (const key of this.#chosen) if (!keys.has(key)) this.#chosen.delete(key)
    this.#showChosen()
  }

  #drawHead(): void {
    const now = this.query.get('orderBy') ?? ''
    const text = JSON.stringify([now, this.#columns.map(({ name }) => name)])
    if (this.#head.dataset.text === text) return
    this.#head.dataset.text = text
    const cells = this.#columns.map((column) => {
      const { order, label, name } = column
      const isUp = order !== undefined && now === order
      const isDown = order !== undefined && now === `-${order}`
      const sort = isUp
        ? 'ascending'
        : isDown
          ? 'descending'
          : order === undefined
            ? undefined
            : 'none'
      const drawn = icon(isUp ? 'up' : isDown ? 'down' : 'both')
      return el(
        'th',
        { scope: 'col', 'aria-sort': sort, class: isNumber(column) ? 'number' : undefined },
        order === undefined
          ? label
          : el(
              'button',
              { type: 'button', 'data-name': name, onclick: () => this.#order(column) },
              label,
              drawn,
            ),
      )
    })
    replace(this.#head, el('td', { class: 'box' }, this.#all), ...cells)
  }

  #rowOf(row: Row): HTMLTableRowElement {
    const { record } = this
    const key = keyOf(record, row)
    const cells = this.#columns.map((column) => [column, cellOf(record, row, column)] as const)
    const text = cells
      .map(([, cell]) => (cell instanceof Node ? cell.textContent : String(cell)))
      .join('\0')
    const known = this.#drawn.get(key)
    if (known?.text === text) return known.node
    const box = el('input', {
      ...{ type: 'checkbox', 'aria-label': `Choose ${titleOf(record, row)}`, 'data-key': key },
      onchange: () => {
        if (box.checked) this.#chosen.add(key)
        else this.#chosen.delete(key)
        this.#showChosen()
      },
    })
    const node = el(
      'tr',
      { class: known === undefined ? undefined : 'fresh' },
      el('td', { class: 'box' }, box),
      ...cells.map(([column, cell]) =>
        el('td', { class: isNumber(column) ? 'number' : undefined }, cell),
      ),
    )
    this.#drawn.set(key, { text, node })
    return node
  }

  #showChosen(): void {
    const count = this.#chosen.size
    for (const box of this.#rows.querySelectorAll<HTMLInputElement>('input[data-key]')) {
      box.checked = this.#chosen.has(box.dataset.key ?? '')
      box.closest('tr')?.classList.toggle('is-chosen', box.checked)
    }
    this.#all.checked = count > 0 && count === this.#shown.length
    this.#all.indeterminate = count > 0 && count < this.#shown.length
    this.#bulk.hidden = count === 0
    this.#bulkCount.textContent = count === 0 ? '' : `${counted(count, this.record)} chosen`
  }

  async #drawChips(): Promise<void> {
    const names = filterNames(this.query)
    const items = await Promise.all(
      names.map(async (name) => {
        const words = await describeCondition(this.record, name, this.query.get(name) ?? '')
        const remove = async (): Promise<void> => {
          this.query.delete(name)
          this.query.delete('after')
          history.pushState(null, '', this.#address())
          await this.#load()
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

  /** After a change of many: the list as it is now. */
  async #done(): Promise<void> {
    this.#chosen.clear()
    await this.#load()
    this.#all.focus()
  }
}

/** The cursor of the next page. */
function nextOf(header: string | null): string | undefined {
  const address = /<([^>]*)>;\s*rel="?next"?/.exec(header ?? '')?.[1]
  if (address === undefined) return undefined
  return new URL(address, location.origin).searchParams.get('after') ?? undefined
}
