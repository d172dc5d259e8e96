/** The form of a new row. */
import { ask, rowsOf } from './ask.js'
import { el } from './element.js'
import { makeRecordForm } from './form.js'
import { say } from './notice.js'
import { go, link, pathTo } from './route.js'
import { keyOf, titleOf, type RecordInfo, type Row } from './schema.js'
import { openView } from './view.js'
import { lower } from './words.js'

export function showNew(record: RecordInfo): void {
  const view = openView(record, `New ${lower(record.one)}`)
  const form = makeRecordForm(record, {
    isNew: true,
    hasNested: true,
    onSubmit: async () => {
      if (!form.check()) return
      try {
        const { data } = await ask<Row>('POST', rowsOf(record), { body: form.read() })
        go(pathTo(record.path, keyOf(record, data)))
        say(`${record.one} “${titleOf(record, data)}” was created.`)
      } catch (error) {
        form.refuse(error)
      }
    },
    buttons: [
      el('button', { type: 'submit', class: 'main' }, 'Save'),
      link(pathTo(record.path), { class: 'button' }, 'Cancel'),
    ],
  })
  view.show(el('div', { class: 'card' }, form.node))
  form.controls[0]?.focus()
}
