/** The controls of fields, by their kinds. */
import { el, put, listen, newId, type Child } from './element.js'
import { type FieldInfo, labelOf, numbers } from './schema.js'
import { findFault } from './field-rules.js'
import { toSize, readText, Unreadable, writeText } from './format.js'
import type { PickerOptions } from './picker.js'

export interface Control {
  /** The property that a write names. */
  readonly name: string
  readonly label: string
  readonly node: HTMLElement
  /** What is focused for a fault. */
  readonly focus: () => void
  /** Undefined where nothing was given. */
  readonly read: () => unknown
  readonly write: (value: unknown) => void
  /** Follows the label; undefined takes it away. @param path of the fault, below the property */
  readonly say: (fault: string | undefined, path?: string) => void
  /** What the rules say, `must be an integer`, with the path below the property. */
  readonly check: (isNew: boolean) => { path: string; fault: string } | undefined
}

export interface ControlOptions {
  readonly isNew: boolean
  /** A bulk edit: nothing is chosen at first, and nothing is required. */
  readonly isLoose?: boolean
  readonly create?: PickerOptions['create']
}

/** A label, the control and the words below it. */
export function frame(
  field: { label: string; help?: string; required?: boolean; isWide?: boolean },
  make: (ids: { id: string; describedBy: string }) => { content: Child; box: HTMLElement },
): { node: HTMLElement; box: HTMLElement; say: (fault?: string) => void } {
  const [id, faultId, helpId] = [newId(), newId(), newId()]
  const fault = el('p', { class: 'fault', id: faultId })
  const describedBy = field.help === undefined ? faultId : `${helpId} ${faultId}`
  const { content, box } = make({ id, describedBy })
  const node = el(
    'div',
    { class: field.isWide === true ? 'field wide' : 'field' },
    el('label', { for: box.id === '' ? id : box.id }, field.label, star(field.required)),
    content,
    field.help !== undefined && el('p', { class: 'help', id: helpId }, field.help),
    fault,
  )
  const say = (words?: string): void => {
    fault.textContent = words ?? ''
    if (words === undefined) box.removeAttribute('aria-invalid')
    else box.setAttribute('aria-invalid', 'true')
  }
  return { node, box, say }
}

const star = (required?: boolean): Child =>
  required === true && el('span', { class: 'star', 'aria-hidden': 'true' }, ' *')

/** By which two values are told apart. */
export const stamp = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

export const byText = (one: unknown, other: unknown): number =>
  String(one) < String(other) ? -1 : 1

type Box = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** @param field the field as a form shows it */
export function makeControl(field: FieldInfo, options: ControlOptions): Control {
  if (field.fields !== undefined && field.list !== true) return makeGroup(field, options)
  if (field.kind === 'blob' || field.kind === 'file') return makeFile(field, options)
  const label = labelOf(field)
  const required = field.required === true && options.isLoose !== true
  const isLong = isLongText(field)
  let original: { raw: string; value: unknown } | undefined
  const { node, box, say } = frame(
    { label, help: helpOf(field), required, isWide: isLong },
    ({ id, describedBy }) => {
      const made = makeBox(field, options)
      made.id = id
      made.setAttribute('aria-describedby', describedBy)
      if (required) made.setAttribute('aria-required', 'true')
      return { content: made, box: made }
    },
  )
  const input = box as Box
  listen(input, 'input', () => {
    say()
  })
  const isCheckbox = input instanceof HTMLInputElement && input.type === 'checkbox'
  if (isCheckbox) node.classList.add('check')
  const rawOf = (): string => (isCheckbox ? String(input.checked) : input.value)
  const read = (): unknown => {
    const raw = rawOf()
    if (original?.raw === raw) return original.value
    return readText(field, raw, options.isNew)
  }
  const write = (value: unknown): void => {
    const text = writeText(field, value)
    if (isCheckbox) input.checked = value === true
    else input.value = text
    original = { raw: rawOf(), value }
  }
  if (options.isNew && field.default !== undefined) {
    const text = writeText(field, field.default)
    if (isCheckbox) input.checked = field.default === true
    else input.value = text
  }
  return {
    ...{ name: field.name, label, node, read, write },
    focus: () => {
      input.focus()
    },
    say: (fault) => {
      say(fault)
    },
    check: (isNew) => {
      const value = read()
      if (original?.raw === rawOf()) return undefined
      const fault =
        value instanceof Unreadable
          ? 'must be a JSON value, at most 64 levels deep'
          : findFault(field, value, isNew && options.isLoose !== true)
      return fault === undefined ? undefined : { path: '', fault }
    },
  }
}

const isLongText = ({ kind, list, maxLength, oneOf, fields }: FieldInfo): boolean =>
  oneOf === undefined &&
  (kind === 'text' ||
    kind === 'json' ||
    list === true ||
    fields !== undefined ||
    (kind === 'string' && (maxLength ?? 0) > 250))

function helpOf({ help, list, fields, kind }: FieldInfo): string | undefined {
  const more =
    list === true && fields === undefined && kind !== 'json' ? 'One per line.' : undefined
  return [help, more].filter((words) => words !== undefined).join(' ') || undefined
}

function makeBox(field: FieldInfo, { isNew, isLoose }: ControlOptions): Box {
  const { kind, list, oneOf, nullable, required, maxLength } = field
  const isBoolean = kind === 'boolean'
  if (list !== true && isBoolean && nullable !== true && isLoose !== true)
    return el('input', { type: 'checkbox' })
  if (list !== true && (oneOf !== undefined || isBoolean)) {
    const values = isBoolean ? ['true', 'false'] : (oneOf ?? []).map(String)
    const words = isBoolean ? ['Yes', 'No'] : values
    const hasNone =
      nullable === true ||
      isLoose === true ||
      (isNew && (field.default === undefined || required !== true))
    return el(
      'select',
      {},
      hasNone && el('option', { value: '' }, isLoose === true ? 'Unchanged' : '–'),
      ...values.map((value, at) => el('option', { value }, words[at] ?? value)),
    )
  }
  if (isLongText(field))
    return el('textarea', {
      rows: kind === 'text' ? 6 : 4,
      class: kind === 'json' ? 'code' : undefined,
    })
  const type = { date: 'date', datetime: 'datetime-local', time: 'time' }[kind] ?? 'text'
  return el('input', {
    type,
    step: type === 'text' || type === 'date' ? undefined : 1,
    inputmode: numbers.has(kind) ? (kind === 'integer' ? 'numeric' : 'decimal') : undefined,
    autocomplete: 'off',
    class: numbers.has(kind) ? 'number' : undefined,
    size: maxLength !== undefined && maxLength <= 12 ? 14 : undefined,
  })
}

/** A nested class. */
function makeGroup(field: FieldInfo, options: ControlOptions): Control {
  const controls = (field.fields ?? []).map((one) => makeControl(one, options))
  const fault = el('p', { class: 'fault' })
  const label = labelOf(field)
  const node = el(
    'fieldset',
    { class: 'wide' },
    el('legend', {}, label, star(field.required)),
    el('div', { class: 'fields' }, ...controls.map((one) => one.node)),
    fault,
  )
  const read = (): unknown => {
    const entries = controls.map((one) => [one.name, one.read()] as const)
    const given = entries.filter(([, value]) => value !== undefined)
    const isEmpty = given.every(([, value]) => value === '' || value === null || value === false)
    if (isEmpty && field.required !== true) return field.nullable === true ? null : undefined
    return Object.fromEntries(given)
  }
  return {
    ...{ name: field.name, label, node, read },
    write: (value) => {
      const whole = (value ?? {}) as Record<string, unknown>
      for (const one of controls) one.write(whole[one.name])
    },
    focus: () => {
      controls[0]?.focus()
    },
    say: (words, path = '') => {
      const [first = '', ...rest] = path.split('.')
      const inner = controls.find((one) => one.name === first)
      if (words === undefined) for (const one of controls) one.say(undefined)
      if (inner !== undefined) inner.say(words, rest.join('.'))
      fault.textContent = inner === undefined ? (words ?? '') : ''
    },
    check: (isNew) => {
      if (read() === undefined || read() === null) return undefined
      for (const one of controls) {
        const found = one.check(isNew)
        if (found !== undefined)
          return {
            path: [one.name, found.path].filter((part) => part !== '').join('.'),
            fault: found.fault,
          }
      }
      return undefined
    },
  }
}

/** A file, which the server takes as base64. */
function makeFile(field: FieldInfo, options: ControlOptions): Control {
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
