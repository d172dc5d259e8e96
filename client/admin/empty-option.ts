/** A checkbox below a control that makes the field empty. */
import { fingerprint } from './compare-values.js'
import type { Control } from './control.js'
import { el, put } from './element.js'
import { isFile } from './file-control.js'
import type { FieldInfo } from './schema.js'
import { translate } from './translate.js'

/** Adds the checkbox to the control of a bulk edit or of a file, if the field can be empty. */
export function addEmptyOptionIfNeeded(
  field: FieldInfo,
  control: Control,
  isBulk = false,
): Control {
  const empty = emptyValueOf(field)
  if (empty === undefined) return control
  if (isBulk) return addEmptyOption(control, empty)
  return isFile(field) ? addRemoveFileOption(control, empty) : control
}

/** @returns undefined if the field cannot be empty */
function emptyValueOf({ nullable, list, kind, oneOf, minLength = 0 }: FieldInfo): unknown {
  if (nullable === true) return null
  if (list === true) return minLength === 0 ? [] : undefined
  return kind.isFreeText && oneOf === undefined && minLength === 0 ? '' : undefined
}

/** For bulk edits: an untouched control means "unchanged", not "empty". */
export function addEmptyOption(control: Control, empty: unknown): Control {
  const untouched = fingerprint(control.read())
  const readChange = (): unknown => {
    const value = control.read()
    return fingerprint(value) === untouched ? undefined : value
  }
  return addCheckbox({ ...control, read: readChange }, empty, translate('makeEmpty')).control
}

/** For files: the checkbox is visible while a file is stored. */
function addRemoveFileOption(control: Control, empty: unknown): Control {
  const { line, control: extended } = addCheckbox(control, empty, translate('removeFile'))
  line.hidden = true
  return {
    ...extended,
    write: (value) => {
      line.hidden = value === null || value === undefined
      extended.write(value)
    },
  }
}

/** @returns the checkbox with its label, and a control that has the empty value while the checkbox is checked */
function addCheckbox(
  control: Control,
  empty: unknown,
  text: string,
): { line: HTMLElement; control: Control } {
  const { node, label } = control
  const box = el('input', { type: 'checkbox', 'aria-label': `${text}: ${label}` })
  const disableInputs = (): void => {
    const inputs = 'input, select, textarea, button'
    for (const input of node.querySelectorAll<HTMLInputElement>(inputs))
      if (input !== box) input.disabled = box.checked
  }
  box.addEventListener('change', () => {
    control.showError(undefined)
    disableInputs()
  })
  const line = el('label', { class: 'choice empty-it' }, box, text)
  put(node, line)
  const extended: Control = {
    ...control,
    read: () => (box.checked ? empty : control.read()),
    write: (value) => {
      box.checked = false
      disableInputs()
      control.write(value)
    },
    findError: () => (box.checked ? undefined : control.findError()),
  }
  return { line, control: extended }
}
