/**
 * The dialog that changes several rows. Up to 500 rows change together, all or none. More rows are previewed first, and then change
 * in batches, with progress and a way to cancel.
 */
import { request, fieldErrorsOf, statusOf, errorText } from './requests.js'
import { buttonRow, cancelButton, openDialog } from './dialog.js'
import { el, replace, type Child } from './element.js'
import { showError, showStatus } from './notices.js'
import { markBusy, type Form } from './form.js'
import { fieldOf, labelAt, referredKey, type RecordInfo, targetOf } from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'
import { toFieldText } from './field-values.js'
import { withCount } from './format.js'
import { translate } from './translate.js'

/** Up to this many rows change in one transaction. */
const maxTogether = 500
/** Rows of one batch of a longer change. */
const batchSize = 250

export interface BulkChange {
  readonly record: RecordInfo
  readonly keys: readonly string[]
  readonly title: string
  readonly description: Child
  /** The path of the request. */
  readonly path: string
  /** The button: `Save`, `Run`, `Delete`. */
  readonly verb: string
  /** What happened to the rows: `3 tickets saved.` */
  readonly toDoneText: (count: number) => string
  readonly isDangerous?: boolean
  /** Makes the form. It must submit by `submit`, and end with `buttons`. */
  readonly form?: (submit: () => Promise<void>, buttons: readonly Child[]) => Form
  /** The body of the request without the keys. Undefined: the input is invalid, and its errors are shown. */
  readonly body: (form: Form | undefined) => object | undefined
  /** Shows the changed rows. */
  readonly reload: () => Promise<void>
}

interface ChangeGroup {
  readonly field: string
  readonly from?: unknown
  readonly to?: unknown
  readonly count: number
}

interface Preview {
  readonly count: number
  readonly changes: readonly ChangeGroup[]
  readonly deleted: number
}

/** The user stopped the change between two batches. */
class Cancelled extends Error {}

export function openBulkChange(change: BulkChange): void {
  openDialog(change.title, ({ body, close }) => {
    const dialog = new BulkDialog(change, body, close)
    return [dialog.start, dialog.step]
  })
}

class BulkDialog {
  readonly start = el('div', {})
  /** The preview, the progress, or the result. */
  readonly step = el('div', { class: 'step' })
  readonly #form: Form | undefined
  readonly #isLarge: boolean

  constructor(
    readonly change: BulkChange,
    readonly body: HTMLElement,
    readonly close: () => void,
  ) {
    const { keys, isDangerous = false } = change
    this.#isLarge = keys.length > maxTogether
    const submit = (): Promise<void> => (this.#isLarge ? this.#preview() : this.#runTogether())
    const preview =
      keys.length > 1 && !this.#isLarge
        ? el('button', { type: 'button', onclick: () => this.#preview() }, translate('preview'))
        : null
    const label = this.#isLarge ? translate('preview') : change.verb
    const look = isDangerous && !this.#isLarge ? 'grave' : 'main'
    const isForm = change.form !== undefined
    const main = el(
      'button',
      isForm
        ? { type: 'submit', class: look }
        : { type: 'button', class: look, onclick: () => this.#whileBusy(submit) },
      label,
    )
    const all = [main, preview, cancelButton(this.close, isDangerous)]
    this.#form = change.form?.(submit, all)
    const batchHint = this.#isLarge
      ? translate('inBatches', { most: maxTogether, size: batchSize })
      : null
    replace(
      this.start,
      change.description,
      batchHint !== null && el('p', {}, batchHint),
      this.#form?.node ?? buttonRow(...all),
    )
  }

  /** Disables the buttons of a dialog without a form, and shows its errors. */
  async #whileBusy(work: () => Promise<void>): Promise<void> {
    const release = markBusy(this.start)
    try {
      await work()
    } finally {
      release()
    }
  }

  async #send<T>(keys: readonly string[], more: object): Promise<T> {
    const { record, path } = this.change
    const ids = keys.map((key) => (record.keyKind === 'int' ? Number(key) : key))
    return (await request<T>('POST', path, { body: { ids, ...more } })).data
  }

  /** Changes all rows in one transaction. */
  async #runTogether(): Promise<void> {
    const { change } = this
    const values = change.body(this.#form)
    if (values === undefined) return
    let count: number
    try {
      ;({ count } = await this.#send<{ count: number }>(change.keys, values))
    } catch (error) {
      this.#showError(error)
      return
    }
    this.close()
    await change.reload()
    showStatus(change.toDoneText(count))
  }

  async #preview(): Promise<void> {
    const { change } = this
    const values = change.body(this.#form)
    if (values === undefined) return
    const summary = new PreviewSummary(change.record)
    this.start.hidden = true
    try {
      const count = await this.#inBatches(translate('previewing'), async (keys) => {
        const preview = await this.#send<Preview>(keys, {
          ...values,
          preview: true,
          skipMissing: this.#isLarge,
        })
        summary.add(preview)
        return preview.count
      })
      await summary.loadTitles()
      this.#showPreview(count, summary, values)
    } catch (error) {
      this.#back()
      if (!(error instanceof Cancelled)) this.#showError(error)
    }
  }

  #showPreview(count: number, summary: PreviewSummary, values: object): void {
    const { record, verb, isDangerous = false } = this.change
    const all = withCount(count, record)
    const run = el(
      'button',
      {
        type: 'button',
        class: isDangerous ? 'grave' : 'main',
        disabled: count === 0,
        onclick: () => this.#run(values),
      },
      translate('verbRows', { verb, rows: all }),
    )
    replace(
      this.step,
      el('h3', { tabindex: '-1' }, translate('preview')),
      summary.draw(count),
      el('p', {}, translate('nothingWritten')),
      buttonRow(
        run,
        el(
          'button',
          {
            type: 'button',
            onclick: () => {
              this.#back()
            },
          },
          translate('back'),
        ),
        cancelButton(this.close),
      ),
    )
    this.step.querySelector('h3')?.focus()
  }

  #back(): void {
    replace(this.step)
    this.start.hidden = false
    ;(this.#form?.controls[0] ?? this.start.querySelector('button'))?.focus()
  }

  /** Writes after a preview. */
  async #run(values: object): Promise<void> {
    const { change } = this
    if (!this.#isLarge) {
      this.#back()
      await (this.#form === undefined
        ? this.#whileBusy(() => this.#runTogether())
        : this.#runTogether())
      return
    }
    this.start.remove()
    let done = 0
    let problem: { text: string; isError: boolean } | undefined
    try {
      await this.#inBatches(change.verb, async (keys) => {
        const body = { ...values, skipMissing: true }
        const { count } = await this.#send<{ count: number }>(keys, body)
        done += count
        return count
      })
    } catch (error) {
      const isError = !(error instanceof Cancelled)
      problem = { isError, text: isError ? errorText(error) : translate('cancelled') }
    }
    const rest = problem && ` ${translate('othersUnchanged', { problem: problem.text })}`
    const closer = el(
      'button',
      { type: 'button', class: 'main', onclick: this.close },
      translate('close'),
    )
    const role = problem?.isError === true ? 'alert' : 'status'
    const text = el('p', { role }, '')
    replace(this.step, text, buttonRow(closer))
    text.textContent = change.toDoneText(done) + (rest ?? '')
    closer.focus()
    await change.reload()
    closer.focus()
  }

  /** Sends the keys in batches. @returns the sum of the counts. @throws {Cancelled} */
  async #inBatches(
    verb: string,
    send: (keys: readonly string[]) => Promise<number>,
  ): Promise<number> {
    const { keys, record } = this.change
    const bar = el('progress', { max: keys.length, value: 0, 'aria-label': verb })
    const statusNode = el(
      'p',
      { role: 'status' },
      translate('starting', { verb, rows: withCount(keys.length, record) }),
    )
    const stopping = new AbortController()
    const stop = el(
      'button',
      {
        type: 'button',
        onclick: () => {
          stopping.abort()
          stop.disabled = true
          statusNode.textContent = translate('cancelling')
        },
      },
      translate('cancel'),
    )
    replace(this.step, bar, statusNode, buttonRow(stop))
    this.step.setAttribute('aria-busy', 'true')
    stop.focus()
    const dialog = this.body.closest('dialog')
    const onEscape = (event: Event): void => {
      event.preventDefault()
      stop.click()
    }
    dialog?.addEventListener('cancel', onEscape)
    let sum = 0
    try {
      for (let from = 0; from < keys.length; from += batchSize) {
        if (stopping.signal.aborted) throw new Cancelled()
        const batch = keys.slice(from, from + batchSize)
        sum += await send(batch)
        const done = from + batch.length
        bar.value = done
        const percent = Math.round((done / keys.length) * 100)
        if (!stop.disabled)
          statusNode.textContent = translate('progress', { verb, done, all: keys.length, percent })
      }
    } finally {
      this.step.removeAttribute('aria-busy')
      dialog?.removeEventListener('cancel', onEscape)
    }
    return sum
  }

  /** Errors of the server name the row: `7.priority`. */
  #showError(error: unknown): void {
    const form = this.#form
    const errors = fieldErrorsOf(error).map(({ path, message }) => {
      const [, key = '', field = ''] = /^([^.]+)\.(.+)$/.exec(path) ?? []
      const isRow = this.change.keys.includes(key)
      return isRow ? { path: field, message: message.replace(`${key}: `, '') } : { path, message }
    })
    if (form === undefined || errors.length === 0 || statusOf(error) >= 500) {
      showError(error)
      return
    }
    form.showError({ status: statusOf(error), data: { errors } })
  }
}

/** What a change does, of all batches together. */
class PreviewSummary {
  readonly #groups = new Map<string, ChangeGroup & { count: number }>()
  #deleted = 0

  constructor(readonly record: RecordInfo) {}

  add({ changes, deleted }: Preview): void {
    this.#deleted += deleted
    for (const group of changes) {
      const key = JSON.stringify([group.field, group.from, group.to])
      const found = this.#groups.get(key)
      if (found === undefined) this.#groups.set(key, { ...group })
      else found.count += group.count
    }
  }

  /** Loads the titles of the rows whose keys change. */
  async loadTitles(): Promise<void> {
    for (const { field, from, to } of this.#groups.values()) {
      const target = targetOf(this.record, fieldOf(this.record, field))
      if (target === undefined) continue
      await loadTitles(
        target,
        [from, to].map((value) => referredKey(target, value)),
      )
    }
  }

  draw(count: number): HTMLElement {
    const { record } = this
    const lines = [...this.#groups.values()]
      .sort((one, other) => other.count - one.count)
      .slice(0, 20)
      .map(({ field, count: rows, ...values }) => {
        const shown = { rows: withCount(rows, record), label: labelAt(record, field) }
        if (!('to' in values)) return translate('differentValues', shown)
        const [from, to] = [this.#show(field, values.from), this.#show(field, values.to)]
        return translate('changedValues', { ...shown, from, to })
      })
    if (this.#deleted > 0)
      lines.unshift(translate('rowsDeleted', { rows: withCount(this.#deleted, record) }))
    if (lines.length === 0)
      lines.push(translate('noFieldChanges', { rows: withCount(count, record) }))
    return el('ul', { class: 'summary' }, ...lines.map((line) => el('li', {}, line)))
  }

  #show(field: string, value: unknown): string {
    const recordField = fieldOf(this.record, field)
    const target = targetOf(this.record, recordField)
    return target === undefined || value === null
      ? toFieldText(recordField, value)
      : cachedTitle(target, referredKey(target, value))
  }
}
