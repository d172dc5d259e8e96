/** The form controls of fields. */
import { fingerprint } from './compare-values.js'
import { choicesOf, controlTypes } from './control-types.js'
import { el, put, listen, newId, type Child } from './element.js'
import { findFieldError } from './field-rules.js'
import { hasLines, parseInput, Unreadable, toInputText } from './field-values.js'
import { toSize } from './format.js'
import type { PickerOptions } from './picker.js'
import { type FieldInfo, labelOf } from './schema.js'

export interface Control {
  /** The property in the body of a write. */
  readonly name: string
  readonly label: string
  readonly node: HTMLElement
  /** Focuses the control to show an error. */
  readonly focus: () => void
  /** The value, or undefined if nothing was entered. */
  readonly read: () => unknown
  readonly write: (value: unknown) => void
  /** Shows an error, or removes it for undefined. @param path the path below the property */
  readonly showError: (error: string | undefined, path?: string) => void
  /** The label at a path below the property. Default: the label of the control. */
  readonly labelAt?: (path: string) => string
  /** Validates the value. @returns an error such as `must be an integer`, and its path below the property */
  readonly check: (isNew: boolean) => { path: string; error: string } | undefined
}

export interface ControlOptions {
  readonly isNew: boolean
  /** Whether the form edits many rows: all controls start empty and nothing is required. */
  readonly isBulk?: boolean
  readonly create?: PickerOptions['create']
}

/** Wraps a control with its label, help and error. */
export function labelledField(
  field: { label: string; help?: string; required?: boolean; isWide?: boolean },
  make: (ids: { id: string; describedBy: string }) => { content: Child; box: HTMLElement },
): { node: HTMLElement; box: HTMLElement; showError: (errorNode?: string) => void } {
  const [id, errorId, helpId] = [newId(), newId(), newId()]
  const errorNode = el('p', { class: 'field-error', id: errorId })
  const describedBy = field.help === undefined ? errorId : `${helpId} ${errorId}`
  const { content, box } = make({ id, describedBy })
  const node = el(
    'div',
    { class: field.isWide === true ? 'field wide' : 'field' },
    el('label', { for: box.id === '' ? id : box.id }, field.label, star(field.required)),
    content,
    field.help !== undefined && el('p', { class: 'help', id: helpId }, field.help),
    errorNode,
  )
  const showError = (message?: string): void => {
    errorNode.textContent = message ?? ''
    if (message === undefined) box.removeAttribute('aria-invalid')
    else box.setAttribute('aria-invalid', 'true')
  }
  return { node, box, showError }
}

const star = (required?: boolean): Child =>
  required === true && el('span', { class: 'star', 'aria-hidden': 'true' }, ' *')

/** The label at a path below a control. The lines of a list are counted from 1. */
export function labelBelow({ label, labelAt }: Control, path: string): string {
  if (/^\d+$/.test(path)) return `${label} (line ${Number(path) + 1})`
  return path === '' ? label : (labelAt?.(path) ?? label)
}

type Box = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Creates the control for a field. */
export function makeControl(field: FieldInfo, options: ControlOptions): Control {
  if (field.fields !== undefined && field.list !== true) return makeGroup(field, options)
  return isFile(field) ? makeFileControl(field, options) : makeBoxControl(field, options)
}

/** The control of a field with one input, select or text area. An untouched control keeps its value exactly. */
function makeBoxControl(field: FieldInfo, options: ControlOptions): Control {
  const label = labelOf(field)
  const required = field.required === true && options.isBulk !== true
  const isLong = isLongText(field)
  let original: { raw: string; value: unknown } | undefined
  const {
    node,
    box,
    showError: showMessage,
  } = labelledField(
    { label, help: helpOf(field), required, isWide: isLong },
    ({ id, describedBy }) => {
      const element = makeBox(field, options)
      element.id = id
      element.setAttribute('aria-describedby', describedBy)
      if (required) element.setAttribute('aria-required', 'true')
      return { content: element, box: element }
    },
  )
  const input = box as Box
  listen(input, 'input', () => {
    showMessage()
  })
  const isCheckbox = input instanceof HTMLInputElement && input.type === 'checkbox'
  if (isCheckbox) node.classList.add('check')
  const rawOf = (): string => (isCheckbox ? String(input.checked) : input.value)
  const read = (): unknown => {
    const raw = rawOf()
    if (original?.raw === raw) return original.value
    return parseInput(field, raw, options.isNew)
  }
  const show = (value: unknown): void => {
    if (isCheckbox) input.checked = value === true
    else input.value = toInputText(field, value)
  }
  const write = (value: unknown): void => {
    show(value)
    original = { raw: rawOf(), value }
  }
  if (options.isNew && field.default !== undefined) show(field.default)
  return {
    name: field.name,
    label,
    node,
    read,
    write,
    focus: () => {
      input.focus()
    },
    showError: (error) => {
      showMessage(error)
    },
    check: (isNew) => {
      const value = read()
      if (original?.raw === rawOf()) return undefined
      const error =
        value instanceof Unreadable
          ? `must be ${field.kind.label}`
          : findFieldError(field, value, isNew && options.isBulk !== true)
      return error === undefined ? undefined : { path: '', error }
    },
  }
}

const isFile = ({ kind }: FieldInfo): boolean => kind.control === 'file'

const isLongText = ({ kind, list, maxLength = 0, oneOf }: FieldInfo): boolean =>
  oneOf === undefined &&
  (list === true ||
    controlTypes[kind.control].textarea !== undefined ||
    (kind.isFreeText && maxLength > 250))

function helpOf(field: FieldInfo): string | undefined {
  const more = hasLines(field) ? 'One per line.' : undefined
  return [field.help, more].filter((part) => part !== undefined).join(' ') || undefined
}

function makeBox(field: FieldInfo, { isNew, isBulk = false }: ControlOptions): Box {
  const { kind, list, nullable, required, maxLength } = field
  const { input, textarea } = controlTypes[kind.control]
  const choices = list === true ? undefined : choicesOf(field)
  const isCheckbox = input.type === 'checkbox' && nullable !== true && !isBulk
  if (choices !== undefined && !isCheckbox) {
    const hasNone =
      nullable === true || isBulk || (isNew && (field.default === undefined || required !== true))
    return el(
      'select',
      {},
      hasNone && el('option', { value: '' }, isBulk ? 'Unchanged' : '–'),
      ...choices.map(([value, label]) => el('option', { value }, label)),
    )
  }
  if (isLongText(field)) return el('textarea', { rows: 4, dir: 'auto', ...textarea })
  return el('input', {
    autocomplete: 'off',
    size: maxLength !== undefined && maxLength <= 12 ? 14 : undefined,
    ...input,
  })
}

/** The controls of a nested class. */
function makeGroup(field: FieldInfo, options: ControlOptions): Control {
  const controls = (field.fields ?? []).map((one) => makeControl(one, options))
  const errorNode = el('p', { class: 'field-error' })
  const label = labelOf(field)
  const node = el(
    'fieldset',
    { class: 'wide' },
    el('legend', {}, label, star(field.required)),
    el('div', { class: 'fields' }, ...controls.map((one) => one.node)),
    errorNode,
  )
  const read = (): unknown => {
    const entries = controls.map((one) => [one.name, one.read()] as const)
    const values = entries.filter(([, value]) => value !== undefined)
    const isEmpty = values.every(([, value]) => value === '' || value === null || value === false)
    if (isEmpty && field.required !== true) return field.nullable === true ? null : undefined
    return Object.fromEntries(values)
  }
  return {
    name: field.name,
    label,
    node,
    read,
    write: (value) => {
      const values = (value ?? {}) as Record<string, unknown>
      for (const one of controls) one.write(values[one.name])
    },
    focus: () => {
      controls[0]?.focus()
    },
    labelAt: (path) => {
      const [first = '', ...rest] = path.split('.')
      const inner = controls.find((one) => one.name === first)
      return inner === undefined ? label : labelBelow(inner, rest.join('.'))
    },
    showError: (message, path = '') => {
      const [first = '', ...rest] = path.split('.')
      const inner = controls.find((one) => one.name === first)
      if (message === undefined) for (const one of controls) one.showError(undefined)
      if (inner !== undefined) inner.showError(message, rest.join('.'))
      errorNode.textContent = inner === undefined ? (message ?? '') : ''
    },
    check: (isNew) => {
      if (read() === undefined || read() === null) return undefined
      for (const one of controls) {
        const error = one.check(isNew)
        if (error !== undefined)
          return {
            path: [one.name, error.path].filter((part) => part !== '').join('.'),
            error: error.error,
          }
      }
      return undefined
    },
  }
}

/** The control for a file. The server receives base64. */
function makeFileControl(field: FieldInfo, options: ControlOptions): Control {
  const label = labelOf(field)
  let value: unknown
  let reading: Promise<void> = Promise.resolve()
  const description = el('p', { class: 'help' })
  const {
    node,
    box,
    showError: showMessage,
  } = labelledField(
    { label, help: field.help, required: field.required === true && options.isBulk !== true },
    ({ id, describedBy }) => {
      const input = el('input', { type: 'file', id, 'aria-describedby': describedBy })
      return { content: input, box: input }
    },
  )
  node.append(description)
  const input = box as HTMLInputElement
  listen(input, 'change', async () => {
    const [file] = input.files ?? []
    showMessage()
    if (file === undefined) return
    reading = toBase64(file).then((text) => {
      value = text
      description.textContent = `${file.name}, ${toSize(text)}`
    })
    await reading
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
        typeof newValue === 'string' && newValue !== '' ? `Stored: ${toSize(newValue)}` : ''
    },
    focus: () => {
      input.focus()
    },
    showError: (error) => {
      showMessage(error)
    },
    check: (isNew) => {
      const error = findFieldError(field, value, isNew && options.isBulk !== true)
      return error === undefined ? undefined : { path: '', error }
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

/** The empty value of a field, or undefined if it cannot be empty. */
function emptyValueOf({ nullable, list, kind, oneOf, minLength = 0 }: FieldInfo): unknown {
  if (nullable === true) return null
  if (list === true) return minLength === 0 ? [] : undefined
  return kind.isFreeText && oneOf === undefined && minLength === 0 ? '' : undefined
}

/**
 * Adds a checkbox that sets a field to its empty value. An untouched control means "unchanged" in bulk edits and for files.
 *
 * @param empty the value while the checkbox is checked
 * @param isFile whether to show the checkbox only while a file is stored
 */
export function addEmptyOption(control: Control, empty: unknown, isFile = false): Control {
  const text = isFile ? 'Remove the file' : 'Make empty'
  const { node, label } = control
  const before = fingerprint(control.read())
  const box = el('input', { type: 'checkbox', 'aria-label': `${text}: ${label}` })
  const show = (): void => {
    const inputs = 'input, select, textarea, button'
    for (const input of node.querySelectorAll<HTMLInputElement>(inputs))
      if (input !== box) input.disabled = box.checked
  }
  box.addEventListener('change', () => {
    control.showError(undefined)
    show()
  })
  const line = el('label', { class: 'choice empty-it', hidden: isFile }, box, text)
  put(node, line)
  return {
    ...control,
    read: () => {
      if (box.checked) return empty
      const value = control.read()
      // An untouched control means "unchanged", not "empty".
      return !isFile && fingerprint(value) === before ? undefined : value
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

/** Adds the checkbox to controls of bulk edits and of files, if the field can be empty. */
export function addEmptyOptionIfNeeded(
  field: FieldInfo,
  control: Control,
  isBulk?: boolean,
): Control {
  const empty = emptyValueOf(field)
  if (empty === undefined) return control
  if (isBulk === true) return addEmptyOption(control, empty)
  return isFile(field) ? addEmptyOption(control, empty, true) : control
}
