/** Bulk edits, bulk deletions, and the application's own actions on rows. */
import { api, request } from './requests.js'
import { cancel, openDialog, confirm } from './dialog.js'
import { el, showStatus, showError } from './element.js'
import { makeClassForm, makeRecordForm } from './form.js'
import { confirmLeave } from './navigation.js'
import { type ActionInfo, type RecordInfo, may } from './schema.js'
import { withCount } from './format.js'

export interface BulkOptions {
  readonly keys: () => readonly string[]
  readonly clearSelection: () => void
  /** Reloads the list. */
  readonly reload: () => Promise<void>
}

/** Whether the caller may do anything with selected rows. */
export const hasBulkActions = (record: RecordInfo): boolean =>
  may(record, 'u') || may(record, 'd') || (record.actions ?? []).some(({ bulk }) => bulk === true)

/** The bar of actions for the selected rows. It is visible while rows are selected. */
export function makeBulkBar(
  record: RecordInfo,
  { keys, clearSelection: clearSelection, reload: reload }: BulkOptions,
): { node: HTMLElement; show: (count: number) => void } {
  const count = el('span', { role: 'status', class: 'count' })
  const button = (name: string, onclick: () => unknown, more = ''): HTMLElement =>
    el('button', { type: 'button', class: more, onclick }, name)
  const node = el(
    'div',
    { class: 'bulk', role: 'group', 'aria-label': 'Chosen rows', hidden: true },
    count,
    button('Choose none', clearSelection, 'quiet'),
    el(
      'div',
      { class: 'doings' },
      may(record, 'u') &&
        button('Edit chosen', () => {
          editMany(record, keys(), reload)
        }),
      ...actionButtons(record, keys, reload, true),
      may(record, 'd') &&
        button('Delete chosen', () => deleteMany(record, keys(), reload), 'grave quiet'),
    ),
  )
  const show = (chosen: number): void => {
    node.hidden = chosen === 0
    count.textContent = chosen === 0 ? '' : `${withCount(chosen, record)} chosen`
  }
  return { node, show }
}

const sendBulk = async (
  record: RecordInfo,
  keys: readonly string[],
  what: object,
): Promise<number> => {
  const ids = keys.map((key) => (record.keyKind === 'int' ? Number(key) : key))
  const { data } = await request<{ count: number }>('POST', api(`bulk/${record.path}`), {
    body: { ids, ...what },
  })
  return data.count
}

function editMany(record: RecordInfo, keys: readonly string[], reload: () => Promise<void>): void {
  openDialog(`Edit ${withCount(keys.length, record)}`, ({ close }) => {
    const form = makeRecordForm(record, {
      isNew: false,
      isBulk: true,
      onSubmit: async () => {
        if (!form.check()) return
        const values = form.read()
        if (Object.keys(values).length === 0) {
          showError('Fill in at least one field.')
          return
        }
        let count: number
        try {
          count = await sendBulk(record, keys, { values })
        } catch (error) {
          form.showError(error)
          return
        }
        close()
        await reload()
        showStatus(`${withCount(count, record)} saved.`)
      },
      buttons: [el('button', { type: 'submit', class: 'main' }, 'Save'), cancel(close)],
    })
    return [el('p', {}, 'Only what you fill in is changed, in all of them or in none.'), form.node]
  })
}

async function deleteMany(
  record: RecordInfo,
  keys: readonly string[],
  reload: () => Promise<void>,
): Promise<void> {
  const isSure = await confirm({
    title: `Delete ${withCount(keys.length, record)}?`,
    content: [el('p', {}, 'All of them are deleted, or none. It cannot be undone.')],
    confirmLabel: 'Delete',
    isDangerous: true,
  })
  if (!isSure) return
  const count = await sendBulk(record, keys, { remove: true })
  await reload()
  showStatus(`${withCount(count, record)} deleted.`)
}

/**
 * @param keys the keys of the rows
 * @param reload shows what has become of them
 */
export function actionButtons(
  record: RecordInfo,
  keys: () => readonly string[],
  reload: () => Promise<void>,
  isBulk = false,
): HTMLElement[] {
  return (record.actions ?? [])
    .filter(({ bulk }) => !isBulk || bulk === true)
    .map((action) =>
      el(
        'button',
        {
          type: 'button',
          onclick: async () => {
            // The reload after the action discards unsaved changes.
            if (await confirmLeave()) runAction(record, action, keys(), reload)
          },
        },
        action.label,
      ),
    )
}

function runAction(
  record: RecordInfo,
  { name, label, fields = [] }: ActionInfo,
  keys: readonly string[],
  reload: () => Promise<void>,
): void {
  openDialog(label, ({ close }) => {
    const form = makeClassForm(fields, {
      isNew: true,
      onSubmit: async () => {
        if (!form.check()) return
        const ids = keys.map((key) => (record.keyKind === 'int' ? Number(key) : key))
        const body = fields.length > 0 ? { ids, body: form.read() } : { ids }
        let count: number
        try {
          const path = api(`actions/${record.path}/${encodeURIComponent(name)}`)
          ;({
            data: { count },
          } = await request<{ count: number }>('POST', path, { body }))
        } catch (error) {
          form.showError(error)
          return
        }
        close()
        await reload()
        showStatus(`${label}: done for ${withCount(count, record)}.`)
      },
      buttons: [el('button', { type: 'submit', class: 'main' }, 'Run'), cancel(close)],
    })
    return [el('p', {}, `Runs for ${withCount(keys.length, record)}.`), form.node]
  })
}
