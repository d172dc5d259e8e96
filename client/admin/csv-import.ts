/** The view that imports a CSV file. It checks the file first, then imports all rows or none. */
import { api, request } from './requests.js'
import { el, listen, newId, replace, showError, showStatus } from './element.js'
import type { RecordInfo } from './schema.js'
import { openView } from './view.js'
import { withCount, lower, toCount } from './format.js'

interface RowError {
  readonly row: number
  readonly path: string
  readonly message: string
}

export function showImport(record: RecordInfo): void {
  const view = openView(record, `Import ${lower(record.label)}`)
  const id = newId()
  const file = el('input', {
    type: 'file',
    id,
    accept: '.csv,text/csv',
    'aria-describedby': `${id}h`,
  })
  const result = el('div', { class: 'result' })
  const importer = el('button', { type: 'button', class: 'main', disabled: true }, 'Import')
  const checker = el('button', { type: 'submit' }, 'Check')
  const relationKeys = (record.relations ?? []).flatMap(({ ids }) => ids ?? [])
  const names = [...record.fields.map(({ name }) => name), ...relationKeys].join(', ')
  const send = async <T>(isCheck: boolean): Promise<T | undefined> => {
    const [chosen] = file.files ?? []
    if (chosen === undefined) {
      showError('Choose a CSV file first.')
      file.focus()
      return undefined
    }
    const body = new Blob([await chosen.arrayBuffer()], { type: 'text/csv' })
    const options = {
      params: isCheck ? { check: true } : {},
      body,
      headers: { 'Content-Type': 'text/csv' },
    }
    return (await request<T>('POST', api(`csv/${record.path}`), options)).data
  }
  listen(file, 'change', () => {
    importer.disabled = true
    replace(result)
  })
  listen(importer, 'click', async () => {
    importer.disabled = true
    try {
      const done = await send<{ count: number }>(false)
      if (done === undefined) return
      replace(result)
      file.value = ''
      showStatus(`${withCount(done.count, record)} imported.`)
    } catch (error) {
      const { faults: errors } = (error as { data?: { faults?: RowError[] } }).data ?? {}
      if (errors !== undefined) replace(result, ...listErrors(errors))
      throw error
    }
  })
  const check = async (event: Event): Promise<void> => {
    event.preventDefault()
    const checked = await send<{ rows: number; faults: RowError[]; seconds: number }>(true)
    if (checked === undefined) return
    const { rows, faults: errors, seconds } = checked
    importer.disabled = errors.length > 0 || rows === 0
    const summary = `${toCount(rows)} ${rows === 1 ? 'row' : 'rows'}, ${
      errors.length === 0
        ? 'no errors.'
        : `${errors.length} ${errors.length === 1 ? 'error' : 'errors'}.`
    }`
    replace(result, ...listErrors(errors))
    // The import locks the table for as long as the check took.
    const wait =
      seconds > 1 ? ` This takes about ${seconds} seconds. Other changes wait meanwhile.` : ''
    if (errors.length === 0) showStatus(`${summary} Import writes them.${wait}`)
    else showError(`${summary} Nothing is written while there are errors.`)
    if (!importer.disabled) importer.focus()
  }
  view.show(
    el(
      'form',
      { class: 'card', onsubmit: check },
      el(
        'div',
        { class: 'field wide' },
        el('label', { for: id }, 'CSV file'),
        file,
        el(
          'p',
          { class: 'help', id: `${id}h` },
          `The first line names the columns: ${names}. Rows that have their ${record.key} are changed, others are new.`,
        ),
      ),
      el('div', { class: 'buttons' }, checker, importer),
      result,
    ),
  )
  file.focus()
}

function listErrors(errors: readonly RowError[]): HTMLElement[] {
  if (errors.length === 0) return []
  const heads = ['Row', 'Column', 'Error'].map((name) => el('th', { scope: 'col' }, name))
  return [
    el(
      'table',
      { class: 'errors' },
      el('caption', {}, 'Errors'),
      el('thead', {}, el('tr', {}, ...heads)),
      el(
        'tbody',
        {},
        ...errors.map(({ row, path, message }) =>
          el('tr', {}, el('td', {}, String(row)), el('td', {}, path), el('td', {}, message)),
        ),
      ),
    ),
  ]
}
