/** Changes and deletes the rows that are chosen in a list, all or none. */
import { api, ask } from './ask.js'
import { actionButtons } from './actions.js'
import { cancel, confirm, openDialog } from './dialog.js'
import { el } from './element.js'
import { makeRecordForm } from './form.js'
import { refuse, say } from './notice.js'
import { may, type RecordInfo } from './schema.js'
import { counted } from './words.js'

/** @param done shows the list as it is now */
export function bulkButtons(
  record: RecordInfo,
  keys: () => readonly string[],
  done: () => Promise<void>,
): HTMLElement[] {
  const edit = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        editMany(record, keys(), done)
      },
    },
    'Edit chosen',
  )
  const remove = el(
    'button',
    { type: 'button', class: 'grave quiet', onclick: () => deleteMany(record, keys(), done) },
    'Delete chosen',
  )
  return [
    ...(may(record, 'u') ? [edit] : []),
    ...actionButtons(record, keys, done, true),
    ...(may(record, 'd') ? [remove] : []),
  ]
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
