/** The view that imports a CSV file. It checks the file first, then imports all rows or none. */
import { fileErrorText, type FileError } from './csv-errors.js'
import { api, postForLines } from './requests.js'
import { el, listen, newId, replace } from './element.js'
import { showError, showStatus } from './notices.js'
import { markBusy } from './form.js'
import { link, pathTo } from './navigation.js'
import {
  displayLabel,
  keyFieldsOf,
  labelAt,
  labelOf,
  recordNamed,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { openView } from './view.js'
import { withCount } from './format.js'
import { translate } from './translate.js'

interface FileProgress {
  readonly rows: number
  /** From 0 to 1. */
  readonly share: number
}

/** The response to a check. */
interface CheckReport {
  readonly rows: number
  readonly faults: readonly FileError[]
  readonly seconds: number
  /** Whether the record has hooks, which run at the import and not at the check. */
  readonly hooks: boolean
}

/** The response to an import: a number of rows, or the errors of the file. */
interface ImportReport {
  readonly count?: number
  readonly faults?: readonly FileError[]
}

export function showImport(record: RecordInfo): void {
  new ImportView(record).show()
}

class ImportView {
  readonly #id = newId()
  readonly #file: HTMLInputElement
  readonly #check = el('button', { type: 'submit' }, translate('check'))
  readonly #import = el(
    'button',
    { type: 'button', class: 'main', disabled: true },
    translate('import'),
  )
  readonly #progress = el('div', { class: 'step' })
  readonly #result = el('div', { class: 'result' })
  readonly #form: HTMLFormElement
  readonly #view

  constructor(readonly record: RecordInfo) {
    const id = this.#id
    this.#view = openView(record, translate('importRecords', { many: record.label }))
    this.#file = el('input', {
      type: 'file',
      id,
      accept: '.csv,text/csv',
      'aria-describedby': `${id}h`,
    })
    this.#form = el(
      'form',
      {
        class: 'card',
        onsubmit: async (event) => {
          event.preventDefault()
          await this.#runCheck()
        },
      },
      el(
        'div',
        { class: 'field wide' },
        el('label', { for: id }, translate('csvFile')),
        this.#file,
        el('p', { class: 'help', id: `${id}h` }, this.#help()),
      ),
      el('div', { class: 'buttons' }, this.#check, this.#import),
      this.#progress,
      this.#result,
    )
    listen(this.#file, 'change', () => {
      this.#import.disabled = true
      replace(this.#result)
    })
    listen(this.#import, 'click', () => this.#runImport())
  }

  show(): void {
    this.#view.show(this.#form)
    this.#file.focus()
  }

  #help(): string {
    const { record } = this
    const withName = (label: string, name: string): string =>
      label.toLowerCase() === name.toLowerCase() ? label : `${label} (${name})`
    const names = [
      ...record.fields.map((field) => withName(displayLabel(record, field), field.name)),
      ...(record.relations ?? []).flatMap((relation) =>
        relation.ids === undefined
          ? []
          : linkColumns(relation, relation.ids).map((name) => withName(labelOf(relation), name)),
      ),
    ]
    return translate('importHelp', {
      columns: names.join(', '),
      key: keyFieldsOf(record).join(', '),
    })
  }

  async #runCheck(): Promise<void> {
    const checked = await this.#send<CheckReport>(
      translate('checking'),
      '?check=true&progress=true',
    )
    if (checked === undefined) return
    const { rows, faults, seconds, hooks } = checked
    this.#import.disabled = faults.length > 0 || rows === 0
    const count = translate('fileRows', { count: rows })
    if (faults.length > 0) {
      const found = { rows: count, errors: translate('fileErrors', { count: faults.length }) }
      this.#show(translate('checkFailed', found), this.#errorTable(faults))
      showError(translate('checkFailedAlert', found))
      return
    }
    // The import locks the table for as long as the check took.
    const sentences = [
      translate('checkPassed', { rows: count }),
      ...(hooks ? [translate('hooksRunLater')] : []),
      ...(seconds > 1 ? [translate('importTakes', { count: seconds })] : []),
    ]
    const text = sentences.join(' ')
    this.#show(text)
    showStatus(text)
    if (!this.#import.disabled) this.#import.focus()
  }

  async #runImport(): Promise<void> {
    const imported = await this.#send<ImportReport>(translate('importing'), '?progress=true')
    this.#import.disabled = true
    if (imported === undefined) return
    const { count = 0, faults } = imported
    if (faults !== undefined) {
      this.#show(translate('importRefused'), this.#errorTable(faults))
      showError(translate('importRefused'))
      return
    }
    this.#file.value = ''
    const { record } = this
    const text = translate('imported', { rows: withCount(count, record) })
    const opener = translate('show', { many: record.label })
    this.#show(text, link(pathTo(record.path), { class: 'button' }, opener))
    showStatus(text)
    this.#result.querySelector('a')?.focus()
  }

  /** Shows a result. It stays until the next file or check. */
  #show(text: string, ...more: HTMLElement[]): void {
    replace(this.#result, el('p', { class: 'outcome' }, text), ...more)
  }

  /** Sends the file and shows the progress. @returns undefined without a file, or after Cancel */
  async #send<T>(verb: string, query: string): Promise<T | undefined> {
    const [file] = this.#file.files ?? []
    if (file === undefined) {
      showError(translate('selectFile'))
      this.#file.focus()
      return undefined
    }
    replace(this.#result)
    const release = markBusy(this.#form)
    const controller = new AbortController()
    const cancel = (): void => {
      controller.abort()
    }
    this.#view.signal.addEventListener('abort', cancel)
    const onLine = this.#showProgress(verb, cancel)
    try {
      const body = new Blob([await file.arrayBuffer()], { type: 'text/csv' })
      const path = api(`csv/${this.record.path}`) + query
      return await postForLines<T>(path, body, { onLine, signal: controller.signal })
    } catch (error) {
      if (!controller.signal.aborted) throw error
      this.#show(translate('importCancelled'))
      return undefined
    } finally {
      replace(this.#progress)
      release()
    }
  }

  /** @returns a function that shows a line of the response */
  #showProgress(verb: string, cancel: () => void): (line: unknown) => void {
    const bar = el('progress', { max: 1, value: 0, 'aria-label': verb })
    const status = el('p', { role: 'status' })
    const stop = el('button', { type: 'button', onclick: cancel }, translate('cancel'))
    replace(this.#progress, bar, status, el('div', { class: 'buttons' }, stop))
    status.textContent = translate('started', { verb })
    stop.focus()
    return (line) => {
      const { rows, share } = line as FileProgress
      bar.value = share
      const percent = Math.floor(share * 100)
      status.textContent = translate('fileProgress', { verb, count: rows, percent })
    }
  }

  #errorTable(errors: readonly FileError[]): HTMLElement {
    const { record } = this
    const heads = (['row', 'column', 'error'] as const).map((name) =>
      el('th', { scope: 'col' }, translate(name)),
    )
    const rows = errors.map((error) => {
      const cells = [String(error.row), labelAt(record, error.path), fileErrorText(record, error)]
      return el('tr', {}, ...cells.map((cell) => el('td', { dir: 'auto' }, cell)))
    })
    return el(
      'table',
      { class: 'errors' },
      el('caption', {}, translate('errors')),
      el('thead', {}, el('tr', {}, ...heads)),
      el('tbody', {}, ...rows),
    )
  }
}

/** The columns of linked rows: a key of several fields has one for each field. */
function linkColumns({ to }: RelationInfo, ids: string): readonly string[] {
  const parts = recordNamed(to)?.keyFields
  return parts === undefined ? [ids] : parts.map((part) => `${ids}.${part}`)
}
