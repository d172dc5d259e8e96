/** Reads a CSV file into a record: first what is wrong with it, then all of it or nothing. Source: specification, Admin page 9. */
import { api, ask } from './requests.js'
import { el, listen, newId, replace, refuse, say } from './element.js'
import type { RecordInfo } from './schema.js'
import { openView } from './view.js'
import { counted, lower, toCount } from './format.js'

interface RowFault {
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
  const ties = (record.relations ?? []).flatMap(({ ids }) => ids ?? [])
  const names = [...record.fields.map(({ name }) => name), ...ties].join(', ')
  const send = async <T>(isCheck: boolean): Promise<T | undefined> => {
    const [chosen] = file.files ?? []
    if (chosen === undefined) {
      refuse('Choose a CSV file first.')
      file.focus()
      return undefined
    }
    const body = new Blob([await chosen.arrayBuffer()], { type: 'text/csv' })
    const options = {
      params: isCheck ? { check: true } : {},
      body,
      headers: { 'Content-Type': 'text/csv' },
    }
    return (await ask<T>('POST', api(`csv/${record.path}`), options)).data
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
      say(`${counted(done.count, record)} imported.`)
    } catch (error) {
      const { faults } = (error as { data?: { faults?: RowFault[] } }).data ?? {}
      if (faults !== undefined) replace(result, ...listFaults(faults))
      throw error
    }
  })
  const check = async (event: Event): Promise<void> => {
    event.preventDefault()
    const found = await send<{ rows: number; faults: RowFault[]; seconds: number }>(true)
    if (found === undefined) return
    const { rows, faults, seconds } = found
    importer.disabled = faults.length > 0 || rows === 0
    const words = `${toCount(rows)} ${rows === 1 ? 'row' : 'rows'}, ${
      faults.length === 0
        ? 'no faults.'
        : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.`
    }`
    replace(result, ...listFaults(faults))
    // The time of the check is the time for which the import locks the table.
    const wait =
      seconds > 1 ? ` This takes about ${seconds} seconds. Other changes wait meanwhile.` : ''
    if (faults.length === 0) say(`${words} Import writes them.${wait}`)
    else refuse(`${words} Nothing is written while there are faults.`)
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

function listFaults(faults: readonly RowFault[]): HTMLElement[] {
  if (faults.length === 0) return []
  const heads = ['Row', 'Column', 'What is wrong'].map((name) => el('th', { scope: 'col' }, name))
  return [
    el(
      'table',
      { class: 'faults' },
      el('caption', {}, 'Faults'),
      el('thead', {}, el('tr', {}, ...heads)),
      el(
        'tbody',
        {},
        ...faults.map(({ row, path, message }) =>
          el('tr', {}, el('td', {}, String(row)), el('td', {}, path), el('td', {}, message)),
        ),
      ),
    ),
  ]
}
