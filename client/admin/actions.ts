/** What the program offers to do with rows: a button by its label, its form in a dialog. */
import { api, ask } from './ask.js'
import { cancel, openDialog } from './dialog.js'
import { el } from './element.js'
import { makeClassForm } from './form.js'
import { mayLeave } from './leaving.js'
import { say } from './notice.js'
import type { ActionInfo, RecordInfo } from './schema.js'
import { counted } from './words.js'

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
