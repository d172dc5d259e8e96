/** The table of a list, with sorting, selection and configurable columns. Only changed rows are drawn again. */
import { base } from './requests.js'
import { el, replace, type Child, listen } from './element.js'
import { icon } from './icon.js'
import { makeCell } from './components.js'
import { link, pathTo } from './navigation.js'
import {
  hasKey,
  keyFieldsOf,
  keyOf,
  labelOf,
  recordNamed,
  referredKey,
  relationOf,
  titleOf,
  type FieldInfo,
  type RecordInfo,
  type PageRow,
} from './schema.js'
import { choicesOf, controlTypes } from './control-types.js'
import { cachedTitle, loadTitles } from './titles.js'
import { toFieldText } from './field-values.js'
import { asText } from './format.js'
import { translate } from './translate.js'

export interface TableOptions {
  /** Whether rows can be selected. */
  readonly isSelectable: boolean
  /** Sorts the list by a column. Without it, the columns cannot be sorted. */
  readonly order?: (column: TableColumn) => Promise<void>
  /** Called when the selection changes. */
  readonly onSelect?: (count: number) => void
  /** The field of a column to leave out. */
  readonly omittedField?: string
  /** Where the choice of columns is stored. Default: in the browser. */
  readonly columns?: ColumnStore
}

/** Where the choice of columns of a list is stored. */
export interface ColumnStore {
  /** The names of the columns, or undefined without a choice. */
  readonly read: () => readonly string[] | undefined
  readonly write: (names: readonly string[]) => void
}

export class RowTable {
  readonly node: HTMLTableElement
  readonly #rows = el('tbody')
  readonly #head = el('tr')
  readonly #all = el('input', { type: 'checkbox', 'aria-label': translate('selectAll') })
  readonly #selected = new Set<string>()
  readonly #widths = el('colgroup')
  readonly #rowNodes = new Map<string, { text: string; node: HTMLTableRowElement }>()
  #columns: TableColumn[]
  #visibleRows: readonly PageRow[] = []

  constructor(
    readonly record: RecordInfo,
    readonly options: TableOptions,
  ) {
    this.#columns = this.#readColumns()
    const caption = el('caption', { class: 'unseen' }, record.label)
    this.node = el('table', {}, caption, this.#widths, el('thead', {}, this.#head), this.#rows)
    listen(this.#all, 'change', () => {
      for (const row of this.#visibleRows) this.#select(keyOf(record, row), this.#all.checked)
      this.#showSelected()
    })
  }

  /** The keys of the selected rows, on this page and on others. */
  get selected(): string[] {
    return [...this.#selected]
  }

  /** Whether all rows of this page are selected. */
  get isPageSelected(): boolean {
    const { record } = this
    return (
      this.#visibleRows.length > 0 &&
      this.#visibleRows.every((row) => this.#selected.has(keyOf(record, row)))
    )
  }

  /** The fields to request for the columns, comma-separated. */
  get fields(): string {
    const { record } = this
    return [
      ...new Set([
        ...keyFieldsOf(record),
        record.title,
        ...this.#columns.map(({ field }) => field.name),
      ]),
    ].join(',')
  }

  /** Replaces the selection. */
  select(keys: Iterable<string>): void {
    this.#selected.clear()
    for (const key of keys) this.#selected.add(key)
    this.#showSelected()
  }

  focus(): void {
    this.#all.focus()
  }

  focusFirstRow(): void {
    const title = this.#rows.querySelector<HTMLElement>('a.title')
    const target = title ?? this.#head.querySelector<HTMLElement>('button')
    target?.focus({ preventScroll: true })
  }

  focusHead({ name }: TableColumn): void {
    this.#head.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"]`)?.focus()
  }

  /** The names of the columns. */
  get columnNames(): string[] {
    return this.#columns.map(({ name }) => name)
  }

  /** Applies the current choice of columns. */
  readColumns(): void {
    this.#columns = this.#readColumns()
    this.#rowNodes.clear()
    this.#releaseWidths()
  }

  #readColumns(): TableColumn[] {
    const { omittedField, columns } = this.options
    return chosenColumns(this.record, columns).filter(({ field }) => field.name !== omittedField)
  }

  /** Loads the titles of the rows that these rows refer to. */
  async loadTitles(rows: readonly PageRow[]): Promise<void> {
    const loads = this.#columns.map(async ({ target, field }) => {
      if (target === undefined) return
      await loadTitles(
        target,
        rows.map((row) => referredKey(target, row[field.name])),
      )
    })
    await Promise.all(loads)
  }

  /**
   * @param orderBy the value of `orderBy` in the URL, empty for the default order
   * @param isLive whether the rows come from a live update. New rows are then highlighted.
   */
  draw(rows: readonly PageRow[], orderBy = '', isLive = false): void {
    this.#visibleRows = rows
    this.#drawHead(orderBy)
    const focused = document.activeElement
    const nodes = rows.map((row, index) => this.#rowOf(row, index, isLive))
    const isSame =
      nodes.length === this.#rows.children.length &&
      nodes.every((node, index) => node === this.#rows.children[index])
    if (!isSame) this.#rows.replaceChildren(...nodes)
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    this.node.hidden = rows.length === 0
    this.#setLeastWidths()
    this.#keepWidths()
    this.#showSelected()
  }

  /** Columns of texts, which may break, get room for the first words of the longest text. */
  #setLeastWidths(): void {
    const first = this.options.isSelectable ? 1 : 0
    for (const [index, column] of this.#columns.entries()) {
      if (!breaks(column)) continue
      const at = index + first
      const texts = [...this.#rows.rows].map(({ cells }) => cells[at]?.textContent ?? '')
      const room = column.name === this.record.title ? titleRoom : textRoom
      const text = Math.min(longest(texts), room)
      const word = Math.min(longest(texts.flatMap((one) => one.split(/\s/))), wordRoom)
      this.#head.cells[at]?.style.setProperty('--least', `${Math.max(text, word)}ch`)
    }
  }

  /**
   * Columns keep the widths of the first page, so that they stay in place on the next one. A column still grows for a number or a
   * word that would not fit.
   */
  #keepWidths(): void {
    const width = String(innerWidth)
    if (this.#widths.dataset.width !== width) this.#releaseWidths()
    const isTable = getComputedStyle(this.node).display === 'table'
    if (this.#widths.children.length > 0 || this.node.offsetWidth === 0 || !isTable) return
    const columns = [...this.#head.children].map((cell) => {
      const column = el('col')
      column.style.width = `${cell.getBoundingClientRect().width}px`
      return column
    })
    replace(this.#widths, ...columns)
    this.#widths.dataset.width = width
  }

  #releaseWidths(): void {
    this.#widths.replaceChildren()
  }

  #drawHead(orderBy: string): void {
    const text = JSON.stringify([orderBy, this.#columns.map(({ name }) => name)])
    if (this.#head.dataset.text === text) return
    this.#head.dataset.text = text
    const cells = this.#columns.map((column) => {
      const { label, name } = column
      const order = this.options.order === undefined ? undefined : column.order
      const isUp = order !== undefined && orderBy === order
      const isDown = order !== undefined && orderBy === `-${order}`
      const sort = isUp ? 'ascending' : isDown ? 'descending' : 'none'
      return el(
        'th',
        {
          scope: 'col',
          class: classOf(column),
          'aria-sort': order === undefined ? undefined : sort,
        },
        order === undefined
          ? label
          : el(
              'button',
              { type: 'button', 'data-name': name, onclick: () => this.options.order?.(column) },
              label,
              icon(isUp ? 'up' : isDown ? 'down' : 'upOrDown'),
            ),
      )
    })
    replace(
      this.#head,
      this.options.isSelectable && el('td', { class: 'box' }, this.#all),
      ...cells,
    )
  }

  /** @param index the place of the row, which identifies a row without a key */
  #rowOf(row: PageRow, index: number, isLive: boolean): HTMLTableRowElement {
    const { record } = this
    const key = hasKey(record) ? keyOf(record, row) : String(index)
    const cells = this.#columns.map((column) => [column, cellOf(record, row, column)] as const)
    const text = cells
      .map(([{ field }, cell]) => [
        row[field.name],
        cell instanceof Node ? cell.textContent : String(cell),
      ])
      .join('\0')
    const cached = this.#rowNodes.get(key)
    if (cached?.text === text) return cached.node
    const node: HTMLTableRowElement = el(
      'tr',
      {
        class: isLive ? 'fresh' : undefined,
        // Do not highlight the row again when it moves.
        onanimationend: () => {
          node.classList.remove('fresh')
        },
      },
      this.options.isSelectable && el('td', { class: 'box' }, this.#boxOf(row, key)),
      ...cells.map(([column, cell]) =>
        el('td', { class: classOf(column), 'data-label': column.label, dir: 'auto' }, cell),
      ),
    )
    this.#rowNodes.set(key, { text, node })
    return node
  }

  #boxOf(row: PageRow, key: string): HTMLElement {
    const box = el('input', {
      type: 'checkbox',
      'aria-label': translate('selectRow', { title: titleOf(this.record, row) }),
      'data-key': key,
      onchange: () => {
        this.#select(key, box.checked)
        this.#showSelected()
      },
    })
    return box
  }

  #select(key: string, isSelected: boolean): void {
    if (isSelected) this.#selected.add(key)
    else this.#selected.delete(key)
  }

  #showSelected(): void {
    const boxes = [...this.#rows.querySelectorAll<HTMLInputElement>('input[data-key]')]
    for (const box of boxes) {
      box.checked = this.#selected.has(box.dataset.key ?? '')
      box.closest('tr')?.classList.toggle('is-selected', box.checked)
    }
    this.#all.checked = this.isPageSelected
    this.#all.indeterminate = !this.#all.checked && boxes.some(({ checked }) => checked)
    this.options.onSelect?.(this.#selected.size)
  }
}

/** The least widths of columns with texts, in characters. */
const titleRoom = 24
const textRoom = 16
/** Longer words break. */
const wordRoom = 28

const longest = (texts: readonly string[]): number =>
  texts.reduce((length, text) => Math.max(length, text.length), 0)

/** Whether the values of a column are texts that may break. Numbers, dates and words of a choice never do. */
const breaks = ({ target, field }: TableColumn): boolean =>
  target !== undefined ||
  field.list === true ||
  (choicesOf(field) === undefined &&
    (field.kind.isFreeText || controlTypes[field.kind.control].textarea !== undefined))

const classOf = (column: TableColumn): string | undefined =>
  breaks(column) ? 'prose' : controlTypes[column.field.kind.control].cellClass

export interface TableColumn {
  readonly name: string
  readonly label: string
  /** The requested field. */
  readonly field: FieldInfo
  /** For a relation: the record whose titles are displayed. */
  readonly target: RecordInfo | undefined
  /** The value of `orderBy` for this column, or undefined if the column cannot be sorted. */
  readonly order: string | undefined
}

/** All columns. Relations replace their keys. */
function allColumns(record: RecordInfo): TableColumn[] {
  return [...keyColumn(record), ...fieldColumns(record)]
}

/** The column with the title of rows whose key has several fields, if none of their fields is a title. */
function keyColumn({ key = '', keyFields, title, one, fields }: RecordInfo): TableColumn[] {
  const [first] = fields.filter(({ name }) => keyFields?.includes(name))
  if (first === undefined || title !== key) return []
  return [{ name: key, label: one, field: { ...first, name: key }, target: undefined, order: key }]
}

function fieldColumns(record: RecordInfo): TableColumn[] {
  return record.fields
    .filter(
      ({ kind, fields, cell }) =>
        cell !== undefined ||
        (controlTypes[kind.control].isOnlyInForms !== true && fields === undefined),
    )
    .map((field) => {
      const relation = field.by === undefined ? undefined : relationOf(record, field.by)
      const target = relation && recordNamed(relation.to)
      if (relation === undefined || target === undefined)
        return {
          name: field.name,
          label: labelOf(field),
          field,
          target: undefined,
          order: field.order === true ? field.name : undefined,
        }
      const title = target.fields.find(({ name }) => name === target.title)
      const byTitle = title?.order === true ? `${relation.name}.${title.name}` : undefined
      const order = byTitle ?? (field.order === true ? field.name : undefined)
      return { name: relation.name, label: labelOf(relation), field, target, order }
    })
}

/** The choice of columns in the browser, for all lists of a record. */
export function storedColumns({ path }: RecordInfo): ColumnStore {
  const key = `filigree ${base} columns ${path}`
  return {
    read: () => {
      try {
        const stored = JSON.parse(localStorage.getItem(key) ?? 'null') as unknown
        return Array.isArray(stored) ? stored.map(String) : undefined
      } catch {
        return undefined
      }
    },
    write: (names) => {
      try {
        localStorage.setItem(key, JSON.stringify(names))
      } catch {
        // Without storage, the choice is lost when the view closes.
      }
    },
  }
}

/** @returns the columns to display, with the title first */
function chosenColumns(record: RecordInfo, store = storedColumns(record)): TableColumn[] {
  const all = allColumns(record)
  const names = store.read() ?? record.list
  const columnNames = [record.title, ...names.filter((name) => name !== record.title)]
  return columnNames.flatMap((name) => all.find((column) => column.name === name) ?? [])
}

/** Checkboxes that choose the columns. Changes apply immediately. */
export function columnChoice(
  record: RecordInfo,
  store: ColumnStore,
  changed: () => Promise<void>,
): HTMLElement {
  const visibleNames = new Set(chosenColumns(record, store).map(({ name }) => name))
  const all = allColumns(record)
  const boxes = all.map(({ name, label }) => {
    const box = el('input', {
      type: 'checkbox',
      checked: visibleNames.has(name),
      disabled: name === record.title,
      onchange: async () => {
        const currentNames = chosenColumns(record, store).map((column) => column.name)
        const names = box.checked
          ? [...currentNames, name]
          : currentNames.filter((one) => one !== name)
        store.write(names)
        await changed()
      },
    })
    return el('label', { class: 'choice' }, box, label)
  })
  const group = el('div', { class: 'boxes', role: 'group', 'aria-label': translate('columns') })
  replace(group, ...boxes)
  return group
}

/** The content of a cell. */
function cellOf(record: RecordInfo, row: PageRow, { name, field, target }: TableColumn): Child {
  const value = row[field.name]
  const text = toFieldText(field, value)
  const { cell: path } = field
  const component = path === undefined ? undefined : makeCell(record, { row, value, path }, text)
  if (name === record.title && hasKey(record))
    return link(
      pathTo(record.path, keyOf(record, row)),
      { class: 'title clamp' },
      component ?? titleOf(record, row),
    )
  if (component !== undefined) return component
  if (target !== undefined && value !== null && value !== undefined) {
    const key = referredKey(target, value)
    return link(pathTo(target.path, asText(key)), { class: 'clamp' }, cachedTitle(target, key))
  }
  if (text === '–') return el('span', { class: 'none' }, text)
  if (field.list !== true && choicesOf(field) !== undefined)
    return el('span', { class: 'pill' }, text)
  if (text.length <= 40) return text
  return el('span', { class: 'clamp' }, text.length > 400 ? `${text.slice(0, 399)}…` : text)
}
