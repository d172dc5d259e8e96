/** Changes and deletes the rows that are chosen in a list, all or none. */
import { api, ask } from './requests.js'
import { cancel, openDialog, confirm } from './dialog.js'
import { el, say, refuse } from './element.js'
import { makeClassForm, makeRecordForm } from './form.js'
import { mayLeave } from './navigation.js'
import { type ActionInfo, type RecordInfo, may } from './schema.js'
import { counted } from './format.js'

export interface BulkOptions {
  readonly keys: () => readonly string[]
  readonly none: () => void
  /** Shows the list as it is now. */
  readonly done: () => Promise<void>
}

/** Whether there is anything that may be done with chosen rows. */
export const hasBulk = (record: RecordInfo): boolean =>
  may(record, 'u') || may(record, 'd') || (record.actions ?? []).some(({ bulk }) => bulk === true)

/** What is done with the chosen rows, shown while there are some. */
export function makeBulkBar(
  record: RecordInfo,
  { keys, none, done }: BulkOptions,
): { node: HTMLElement; show: (count: number) => void } {
  const count = el('span', { role: 'status', class: 'count' })
  const button = (name: string, onclick: () => unknown, more = ''): HTMLElement =>
    el('button', { type: 'button', class: more, onclick }, name)
  const node = el(
    'div',
    { class: 'bulk', role: 'group', 'aria-label': 'Chosen rows', hidden: true },
    count,
    button('Choose none', none, 'quiet'),
    el(
      'div',
      { class: 'doings' },
      may(record, 'u') &&
        button('Edit chosen', () => {
          editMany(record, keys(), done)
        }),
      ...actionButtons(record, keys, done, true),
      may(record, 'd') &&
        button('Delete chosen', () => deleteMany(record, keys(), done), 'grave quiet'),
    ),
  )
  const show = (chosen: number): void => {
    node.hidden = chosen === 0
    count.textContent = chosen === 0 ? '' : `${counted(chosen, record)} chosen`
  }
  return { node, show }
}

const send = async (record: RecordInfo, keys: readonly string[], what: object): Promise<number> => {
  const ids = keys.map((key) => (record.keyKind === 'int' ? Number(key) : key))
  const { data } = await ask<{ count: number }>('POST', api(`bulk/${record.path}`), {
    body: { ids, ...what },
  })
  return data.count
}

function editMany(record: RecordInfo, keys: readonly string[], done: () => Promise<void>): void {
  openDialog(`Edit ${counted(keys.length, record)}`, ({ close }) => {
    const form = makeRecordForm(record, {
      isNew: false,
      isLoose: true,
      onSubmit: async () => {
        if (!form.check()) return
        const values = form.read()
        if (Object.keys(values).length === 0) {
          refuse('Nothing is filled in: there is nothing to change.')
          return
        }
        let count: number
        try {
          count = await send(record, keys, { values })
        } catch (error) {
          form.refuse(error)
          return
        }
        close()
        await done()
        say(`${counted(count, record)} saved.`)
      },
      buttons: [el('button', { type: 'submit', class: 'main' }, 'Save'), cancel(close)],
    })
    return [el('p', {}, 'Only what you fill in is changed, in all of them or in none.'), form.node]
  })
}

async function deleteMany(
  record: RecordInfo,
  keys: readonly string[],
  done: () => Promise<void>,
): Promise<void> {
  const isSure = await confirm({
    title: `Delete ${counted(keys.length, record)}?`,
    words: [el('p', {}, 'All of them are deleted, or none. It cannot be undone.')],
    yes: 'Delete',
    isGrave: true,
  })
  if (!isSure) return
  const count = await send(record, keys, { remove: true })
  await done()
  say(`${counted(count, record)} deleted.`)
}

/**
 * @param keys the rows that are meant
 * @param done shows what has become of them
 */
export function actionButtons(
  record: RecordInfo,
  keys: () => readonly string[],
  done: () => Promise<void>,
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
            // What has become of the rows is shown in place of what was typed.
            if (await mayLeave()) run(record, action, keys(), done)
          },
        },
        action.label,
      ),
    )
}

function run(
  record: RecordInfo,
  { name, label, fields = [] }: ActionInfo,
  keys: readonly string[],
  done: () => Promise<void>,
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
          } = await ask<{ count: number }>('POST', path, { body }))
        } catch (error) {
          form.refuse(error)
          return
        }
        close()
        await done()
        say(`${label}: done for ${counted(count, record)}.`)
      },
      buttons: [el('button', { type: 'submit', class: 'main' }, 'Run'), cancel(close)],
    })
    return [el('p', {}, `Runs for ${counted(keys.length, record)}.`), form.node]
  })
}
