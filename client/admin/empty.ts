/** Saying “nothing” where leaving a control alone says something else: in a change of many rows, and of a stored file. */
import { stamp, type Control } from './control.js'
import { el, put } from './element.js'
import type { FieldInfo } from './schema.js'

/** What an empty value of a field is; undefined where it must have one. */
function emptyOf({ nullable, list, kind, oneOf, minLength = 0 }: FieldInfo): unknown {
  if (nullable === true) return null
  if (list === true) return minLength === 0 ? [] : undefined
  const isText = kind === 'string' || kind === 'text'
  return isText && oneOf === undefined && minLength === 0 ? '' : undefined
}

/**
 * @param empty what is read while its box is checked
 * @param isFile the box is there while something is stored
 */
export function orEmpty(control: Control, empty: unknown, isFile = false): Control {
  const words = isFile ? 'Remove the file' : 'Make empty'
  const { node, label } = control
  const before = stamp(control.read())
  const box = el('input', { type: 'checkbox', 'aria-label': `${words}: ${label}` })
  const show = (): void => {
    const others = 'input, select, textarea, button'
    for (const other of node.querySelectorAll<HTMLInputElement>(others))
      if (other !== box) other.disabled = box.checked
  }
  box.addEventListener('change', () => {
    control.say(undefined)
    show()
  })
  const line = el('label', { class: 'choice empty-it', hidden: isFile }, box, words)
  put(node, line)
  return {
    ...control,
    read: () => {
      if (box.checked) return empty
      const value = control.read()
      // What is left alone is no empty value.
      return !isFile && stamp(value) === before ? undefined : value
    },
    write: (value) => {
      box.checked = false
      line.hidden = isFile && (value === null || value === undefined)
      show()
      control.write(value)
    },
    check: (isNew) => (box.checked ? undefined : control.check(isNew)),
  }
}

/** A control as a form of many rows has it, or of one with a file. */
export function withEmpty(field: FieldInfo, control: Control, isLoose?: boolean): Control {
  const empty = emptyOf(field)
  if (empty === undefined) return control
  if (isLoose === true) return orEmpty(control, empty)
  return field.kind === 'blob' || field.kind === 'file' ? orEmpty(control, empty, true) : control
}
