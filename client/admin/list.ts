/** The list view of a record, with search, filter, sorting, pages and live updates. The URL holds the state of the list. */
import { usesStoredToken, api, fieldErrorsOf } from './requests.js'
import { el, put, replace, type Child } from './element.js'
import { icon } from './icon.js'
import { clearAlerts, showError } from './notices.js'
import { labelAt, may, schema, withLabel, type RecordInfo, type PageRow } from './schema.js'
import { createClient } from '../index.js'
import { createLive } from '../live.js'
import { exportLink } from './export-link.js'
import { makeFilter } from './filter.js'
import { makeFilterChips } from './filter-chips.js'
import { makeBar, type ListBar } from './list-bar.js'
import { ListLocation, type Condition } from './list-location.js'
import { readKeys, requestPage } from './list-rows.js'
import { makePager, pageSize, type Pager } from './pager.js'
import { makeQuickFilters, type QuickFilters } from './quick-filters.js'
import { type BulkBar, hasBulkActions, makeBulkBar } from './row-actions.js'
import { toTotal, withTotal, type RowTotal } from './row-total.js'
import { makeViewsBar, type ViewsBar } from './saved-views.js'
import {
  columnChoice,
  type ColumnStore,
  RowTable,
  storedColumns,
  type TableColumn,
} from './table.js'
import { link, pathTo } from './navigation.js'
import { openView, type PageView } from './view.js'
import { translate } from './translate.js'

const client = createClient()
const live = createLive(client)

/** A load that takes longer says so. In milliseconds. */
const silentTime = 250

export async function showList(record: RecordInfo, query: URLSearchParams): Promise<void> {
  const view = openView(record, record.label, false)
  await new ListView(record, view, new ListLocation(record, query)).start()
}

/** The columns of a saved view are in the address. Otherwise the browser remembers the choice. */
function columnsOf(record: RecordInfo, query: ListLocation): ColumnStore {
  const stored = storedColumns(record)
  return {
    read: () => query.columns ?? stored.read(),
    write: (names) => {
      if (query.columns === undefined) stored.write(names)
      else query.setColumns(names)
    },
  }
}

class ListView {
  readonly #table: RowTable
  readonly #bar: ListBar
  readonly #empty = el('div', { class: 'empty', hidden: true })
  readonly #total = el('p', { class: 'total', 'aria-live': 'polite' })
  readonly #pager: Pager
  readonly #bulk: BulkBar
  /** Leads to the chart of the rows that match. */
  readonly #chartLink: HTMLAnchorElement
  readonly #quickFilters: QuickFilters
  readonly #savedViews: ViewsBar
  readonly #chips = el('ul', { class: 'chips', 'aria-label': translate('filterInUse') })
  readonly #searchBox: HTMLInputElement
  #nextCursor: string | undefined
  #stop: () => void = () => undefined
  #loadCount = 0

  constructor(
    readonly record: RecordInfo,
    readonly view: PageView,
    readonly query: ListLocation,
  ) {
    const chartPath = pathTo(record.path, 'figures')
    this.#chartLink = link(
      chartPath,
      { class: 'button quiet' },
      icon('chart'),
      translate('figures'),
    )
    this.#searchBox = el('input', {
      type: 'search',
      'aria-label': translate('searchIn', { many: record.label }),
      placeholder: translate('search'),
      value: query.search,
      autocomplete: 'off',
      enterkeyhint: 'search',
      dir: 'auto',
    })
    const columns = columnsOf(record, query)
    this.#savedViews = makeViewsBar(record, {
      query: () => query.stateWith(this.#table.columnNames),
      open: (state) => {
        query.replaceQuery(state)
        return this.#load()
      },
      signal: view.signal,
    })
    const saveView = el(
      'button',
      {
        type: 'button',
        onclick: () => {
          this.#savedViews.save()
        },
      },
      icon('star'),
      translate('saveView'),
    )
    this.#bar = makeBar({
      more: [saveView],
      searchBox: this.#searchBox,
      search: () => this.#search(),
      panels: [
        {
          name: translate('filter'),
          icon: 'filter',
          make: () => makeFilter(record, query.params, (filter) => this.#applyFilter(filter)),
        },
        {
          name: translate('columns'),
          icon: 'columns',
          make: () =>
            columnChoice(record, columns, async () => {
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
      isSelectable: hasBulkActions(record),
      columns,
      order: (column) => this.#order(column),
      onSelect: () => {
        this.#showBulk()
      },
    })
    this.#pager = makePager({
      previous: () => {
        query.openPreviousPage()
        return this.#showPage()
      },
      next: async () => {
        if (this.#nextCursor === undefined) return
        query.openNextPage(this.#nextCursor)
        await this.#showPage()
      },
      jump: (page) => {
        query.openPage(page)
        return this.#showPage()
      },
      resize: () => {
        query.openFirstPage()
        return this.#load()
      },
    })
    this.#quickFilters = makeQuickFilters(
      query,
      el(
        'div',
        { class: 'card rows' },
        el('div', { class: 'scroll' }, this.#table.node),
        this.#empty,
      ),
      { apply: (filter) => this.#applyFilter(filter), signal: view.signal },
    )
    put(view.tools, ...this.#tools())
    view.aside.replaceChildren(this.#total)
    view.show(
      this.#savedViews.node,
      this.#bar.node,
      this.#bar.panel,
      this.#chips,
      this.#bulk.node,
      this.#quickFilters.node,
      this.#pager.node,
    )
  }

  async start(): Promise<void> {
    this.view.signal.addEventListener('abort', () => {
      this.#stop()
    })
    this.#savedViews.load().catch(showError)
    await this.#load()
    this.view.settle()
  }

  #tools(): Child[] {
    const { record } = this
    const at = (name: string): string => pathTo(record.path, name)
    return [
      this.#chartLink,
      record.history === true &&
        link(at('history'), { class: 'button quiet' }, icon('clock'), translate('history')),
      record.bin === true &&
        link(at('bin'), { class: 'button quiet' }, icon('bin'), translate('bin')),
      exportLink(() => `${api(`csv/${record.path}`)}?${String(this.query.toParams())}`, record),
      (may(record, 'create') || may(record, 'update')) &&
        link(at('import'), { class: 'button quiet' }, icon('import'), translate('import')),
      may(record, 'create') &&
        link(
          at('new'),
          { class: 'button main' },
          icon('plus'),
          translate('newRow', { one: record.one }),
        ),
    ]
  }

  async #showPage(): Promise<void> {
    await this.#load()
    scrollTo(0, 0)
    this.#table.focusFirstRow()
  }

  #showBulk(): void {
    const { total } = this.query.state
    const count = this.#table.selected.length
    const canOffer = this.#table.isPageSelected && this.#pageCount() !== 1
    const isAll = total !== undefined && !total.isEstimate && count >= total.count
    const offer =
      total === undefined
        ? translate('selectAllMatching')
        : translate('selectMatching', { count: toTotal(total) })
    this.#bulk.show(count, canOffer && !isAll ? offer : undefined)
  }

  async #selectAll(report: (count: number) => void): Promise<void> {
    const keys = await readKeys(this.query, this.view.signal, report)
    this.#table.select(keys)
    this.#setTotal({ count: keys.length, isEstimate: false })
  }

  async #search(): Promise<void> {
    const text = this.#searchBox.value.trim()
    if (text === this.query.search) return
    this.#table.select([])
    this.query.setSearch(text)
    await this.#load()
  }

  async #applyFilter(filter: readonly Condition[]): Promise<void> {
    this.#table.select([])
    this.#bar.close()
    this.query.setFilter(filter)
    await this.#load()
  }

  async #order(column: TableColumn): Promise<void> {
    if (column.order === undefined) return
    this.query.toggleOrder(column.order)
    await this.#load()
    this.#table.focusHead(column)
  }

  async #load(): Promise<void> {
    const loadNumber = ++this.#loadCount
    this.#stop()
    const { query, view } = this
    const isFirst = query.isFirstPage
    let page
    const hideLoading = this.#showLoading()
    try {
      page = await requestPage(query, this.#table.fields, view.signal)
    } catch (error) {
      if (loadNumber !== this.#loadCount) return
      hideLoading()
      throw this.#withLabels(error)
    }
    if (loadNumber !== this.#loadCount || !view.isOpen()) return
    hideLoading()
    // The status message stays, for example "Ticket was deleted".
    clearAlerts()
    this.#nextCursor = page.nextCursor
    if (isFirst) query.replaceState({ page: 1, pages: [], total: page.total })
    this.#setTotal(query.state.total)
    await this.#draw(page.rows)
    this.#drawChips().catch(showError)
    this.#quickFilters.update()
    this.#savedViews.update()
    this.#chartLink.href = query.figuresPath
    if (loadNumber === this.#loadCount) this.#follow(page.path, loadNumber)
  }

  /** Draws the rows again whenever they change. */
  #follow(path: string, loadNumber: number): void {
    const { key, keyFields } = this.record
    if (schema()?.live !== true || (key !== 'id' && keyFields === undefined)) return
    client.configure({ auth: usesStoredToken() })
    let isLive = false
    this.#stop = live(path, (rows: PageRow[]) => {
      if (loadNumber !== this.#loadCount || !this.view.isOpen()) return
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
      this.#total.textContent = translate('loading')
      if (!isEmpty) return
      replace(this.#empty, el('p', {}, translate('loadingRows', { many: this.record.label })))
      this.#empty.hidden = false
    }, silentTime)
    return () => {
      clearTimeout(timer)
      table.removeAttribute('aria-busy')
      if (this.#total.textContent === translate('loading')) this.#total.textContent = ''
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

  /** Shows the number of rows, and stores it for the next pages. */
  #setTotal(total: RowTotal | undefined): void {
    const { record } = this
    const { page, pages } = this.query.state
    this.query.replaceState({ page, pages, total })
    this.#total.textContent = total === undefined ? '' : withTotal(total, record)
    this.#pager.show({
      page,
      pageCount: this.#pageCount(),
      isEstimate: total?.isEstimate === true,
      hasPrevious: !this.query.isFirstPage,
      hasNext: this.#nextCursor !== undefined,
    })
    this.#showBulk()
  }

  #pageCount(): number | undefined {
    const { total } = this.query.state
    return total && Math.max(1, Math.ceil(total.count / pageSize()))
  }

  async #draw(rows: readonly PageRow[], isLive = false): Promise<void> {
    const { record } = this
    await this.#table.loadTitles(rows)
    if (!this.view.isOpen()) return
    this.#table.draw(rows, this.query.order, isLive)
    this.#empty.hidden = rows.length > 0
    const { isFiltered } = this.query
    const text = translate(isFiltered ? 'noMatch' : 'noRows', { one: record.one })
    const all = isFiltered && link(pathTo(record.path), { class: 'button' }, translate('showAll'))
    replace(this.#empty, el('p', {}, text), all)
  }

  async #drawChips(): Promise<void> {
    const chips = await makeFilterChips(this.record, this.query.params, async (names) => {
      this.query.removeFilter(names)
      await this.#load()
    })
    this.#chips.hidden = chips.length === 0
    replace(this.#chips, ...chips)
  }
}
