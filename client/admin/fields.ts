/** The controls of fields, by their kinds. */
import { frame, star, type Control, type ControlOptions } from './control.js'
import { el, listen } from './element.js'
import { makeFile } from './file.js'
import { findFault } from './rules.js'
import { labelOf, numbers, type FieldInfo } from './schema.js'
import { readText, Unreadable, writeText } from './values.js'

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
