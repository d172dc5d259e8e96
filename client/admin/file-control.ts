/** The form control of a file. */
import { labelledField, type Control, type ControlOptions } from './control.js'
import { el, listen } from './element.js'
import { findFieldError } from './field-rules.js'
import { toSize } from './format.js'
import { labelOf, type FieldInfo } from './schema.js'
import { translate } from './translate.js'

export const isFile = ({ kind }: FieldInfo): boolean => kind.control === 'file'

/** The value of the control is the content of the file in base64. */
export function makeFileControl(field: FieldInfo, options: ControlOptions): Control {
  const label = labelOf(field)
  let value: unknown
  const description = el('p', { class: 'help' })
  const {
    node,
    box: input,
    showError,
  } = labelledField(
    { label, help: field.help, required: field.required === true && options.isBulk !== true },
    ({ id, describedBy }) => {
      const box = el('input', { type: 'file', id, 'aria-describedby': describedBy })
      return { content: box, box }
    },
  )
  node.append(description)
  listen(input, 'change', async () => {
    const [file] = input.files ?? []
    showError()
    if (file === undefined) return
    const text = await toBase64(file)
    value = text
    description.textContent = `${file.name}, ${toSize(text)}`
  })
  return {
    name: field.name,
    label,
    node,
    read: () => value,
    write: (newValue) => {
      value = newValue
      input.value = ''
      description.textContent =
        typeof newValue === 'string' && newValue !== ''
          ? translate('stored', { size: toSize(newValue) })
          : ''
    },
    focus: () => {
      input.focus()
    },
    showError,
    findError: () => findFieldError(field, value, options.isNew && options.isBulk !== true),
  }
}

async function toBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
