/** The table of a list: its head orders, its boxes choose, and only what has changed is drawn anew. */
import { cellOf, chosenColumns, isNumber, type Column } from './columns.js'
import { el, icon, listen, replace } from './element.js'
import { keyOf, moments, titleOf, type RecordInfo, type Row } from './schema.js'
import { lookUp } from './titles.js'

export interface TableOptions {
  /** Whether rows can be chosen. */
  readonly hasBoxes: boolean
  readonly order: (column: Column) => Promise<void>
  /** Called whenever other rows are chosen. */
  readonly onChosen: (count: number) => void
}

export class RowTable {
  readonly node: HTMLTableElement
  readonly #rows = el('tbody')
  readonly #head = el('tr')
  readonly #all = el('input', { type: 'checkbox', 'aria-label': 'Choose all' })
  readonly #chosen = new Set<string>()
  readonly #drawn = new Map<string, { text: string; node: HTMLTableRowElement }>()
  #columns: Column[]
  #shown: readonly Row[] = []

  constructor(
    readonly record: RecordInfo,
    readonly options: TableOptions,
  ) {
    this.#columns = chosenColumns(record)
    const caption = el('caption', { class: 'unseen' }, record.label)
    this.node = el('table', {}, caption, el('thead', {}, this.#head), this.#rows)
    listen(this.#all, 'change', () => {
      for (const row of this.#shown) this.#choose(keyOf(record, row), this.#all.checked)
      this.#showChosen()
    })
  }

  get chosen(): string[] {
    return [...this.#chosen]
  }

  /** The properties that its columns ask for. */
  get fields(): string {
    const { key, title } = this.record
    return [...new Set([key, title, ...this.#columns.map(({ field }) => field.name)])].join(',')
  }

  chooseNone(): void {
    this.#chosen.clear()
    this.#showChosen()
  }

  focus(): void {
    this.#all.focus()
  }

  focusHead({ name }: Column): void {
    this.#head.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"]`)?.focus()
  }

  /** Takes the columns that are chosen now. */
  readColumns(): void {
    this.#columns = chosenColumns(this.record)
    this.#drawn.clear()
  }

  /** Looks up what the rows refer to by key. */
  async lookUp(rows: readonly Row[]): Promise<void> {
    const asked = this.#columns.map(async ({ target, field }) => {
      const keys = rows.map((row) => row[field.name])
      if (target !== undefined) await lookUp(target, keys)
    })
    await Promise.all(asked)
  }

  /**
   * @param orderBy as the address has it
   * @param isLive others changed them: what is new is marked
   */
  draw(rows: readonly Row[], orderBy: string, isLive: boolean): void {
    const { record } = this
    this.#shown = rows
    this.#drawHead(orderBy)
    const focused = document.activeElement
    const nodes = rows.map((row) => this.#rowOf(row, isLive))
    const isSame =
      nodes.length === this.#rows.children.length &&
      nodes.every((node, index) => node === this.#rows.children[index])
    if (!isSame) this.#rows.replaceChildren(...nodes)
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    this.node.hidden = rows.length === 0
    const keys = new Set(rows.map((row) => keyOf(record, row)))
    for (const key of this.#chosen) if (!keys.has(key)) this.#chosen.delete(key)
    this.#showChosen()
  }

  #drawHead(orderBy: string): void {
    const text = JSON.stringify([orderBy, this.#columns.map(({ name }) => name)])
    if (this.#head.dataset.text === text) return
    this.#head.dataset.text = text
    const cells = this.#columns.map((column) => {
      const { order, label, name } = column
      const isUp = order !== undefined && orderBy === order
      const isDown = order !== undefined && orderBy === `-${order}`
      const sort = isUp ? 'ascending' : isDown ? 'descending' : 'none'
      return el(
        'th',
        {
          ...{ scope: 'col', class: isNumber(column) ? 'number' : undefined },
          'aria-sort': order === undefined ? undefined : sort,
        },
        order === undefined
          ? label
          : el(
              'button',
              { type: 'button', 'data-name': name, onclick: () => this.options.order(column) },
              label,
              icon(isUp ? 'up' : isDown ? 'down' : 'both'),
            ),
      )
    })
    replace(this.#head, this.options.hasBoxes && el('td', { class: 'box' }, this.#all), ...cells)
  }

  #rowOf(row: Row, isLive: boolean): HTMLTableRowElement {
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
        this.#choose(key, box.checked)
        this.#showChosen()
      },
    })
    const node: HTMLTableRowElement = el(
      'tr',
      {
        class: isLive ? 'fresh' : undefined,
        // A row that moves afterwards is not new again.
        onanimationend: () => {
          node.classList.remove('fresh')
        },
      },
      this.options.hasBoxes && el('td', { class: 'box' }, box),
      ...cells.map(([column, cell]) =>
        el('td', { class: classOf(column), 'data-label': column.label }, cell),
      ),
    )
    this.#drawn.set(key, { text, node })
    return node
  }

  #choose(key: string, isChosen: boolean): void {
    if (isChosen) this.#chosen.add(key)
    else this.#chosen.delete(key)
  }

  #showChosen(): void {
    const count = this.#chosen.size
    for (const box of this.#rows.querySelectorAll<HTMLInputElement>('input[data-key]')) {
      box.checked = this.#chosen.has(box.dataset.key ?? '')
      box.closest('tr')?.classList.toggle('is-chosen', box.checked)
    }
    this.#all.checked = count > 0 && count === this.#shown.length
    this.#all.indeterminate = count > 0 && count < this.#shown.length
    this.options.onChosen(count)
  }
}

const classOf = (column: Column): string | undefined =>
  isNumber(column) ? 'number' : moments.has(column.field.kind) ? 'when' : undefined
