/** The control of a file. */
import { frame, type Control, type ControlOptions } from './control.js'
import { el, listen } from './element.js'
import { findFault } from './rules.js'
import { labelOf, type FieldInfo } from './schema.js'
import { toSize } from './words.js'

/** A file, which the server takes as base64. */
export function makeFile(field: FieldInfo, options: ControlOptions): Control {
  const label = labelOf(field)
  let value: unknown
  let reading: Promise<void> = Promise.resolve()
  const words = el('p', { class: 'help' })
  const { node, box, say } = frame(
    { label, help: field.help, required: field.required === true && options.isLoose !== true },
    ({ id, describedBy }) => {
      const input = el('input', { type: 'file', id, 'aria-describedby': describedBy })
      return { content: input, box: input }
    },
  )
  node.append(words)
  const input = box as HTMLInputElement
  listen(input, 'change', async () => {
    const [file] = input.files ?? []
    say()
    if (file === undefined) return
    reading = toBase64(file).then((text) => {
      value = text
      words.textContent = `${file.name}, ${toSize(text)}`
    })
    await reading
  })
  return {
    ...{ name: field.name, label, node },
    read: () => value,
    write: (given) => {
      value = given
      input.value = ''
      words.textContent =
        typeof given === 'string' && given !== '' ? `Stored: ${toSize(given)}` : ''
    },
    focus: () => {
      input.focus()
    },
    say: (fault) => {
      say(fault)
    },
    check: (isNew) => {
      const fault = findFault(field, value, isNew && options.isLoose !== true)
      return fault === undefined ? undefined : { path: '', fault }
    },
  }
}

async function toBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
