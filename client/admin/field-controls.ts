/** The form controls of fields: an input, a file, or the fields of a nested class. */
import { choicesOf, controlTypes } from './control-types.js'
import {
  joinPath,
  labelBelow,
  labelledField,
  star,
  type Control,
  type ControlOptions,
} from './control.js'
import { el, listen } from './element.js'
import { findFieldError, mustBe, toFieldError } from './field-rules.js'
import { hasLines, parseInput, toInputText, Unreadable } from './field-values.js'
import { isFile, makeFileControl } from './file-control.js'
import { labelOf, type FieldInfo } from './schema.js'
import { translate } from './translate.js'

type Box = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Creates the control for a field. */
export function makeControl(field: FieldInfo, options: ControlOptions): Control {
  if (field.fields !== undefined && field.list !== true) return makeGroup(field, options)
  return isFile(field) ? makeFileControl(field, options) : makeInputControl(field, options)
}

/** The control of a field with one input, select or text area. An untouched control keeps its value exactly. */
function makeInputControl(field: FieldInfo, options: ControlOptions): Control {
  const label = labelOf(field)
  const required = field.required === true && options.isBulk !== true
  /** The written value, and its text in the input. */
  let original: { text: string; value: unknown } | undefined
  const {
    node,
    box: input,
    showError,
  } = labelledField(
    { label, help: helpOf(field), required, isWide: isLongText(field) },
    ({ id, describedBy }) => {
      const box = makeBox(field, options)
      box.id = id
      box.setAttribute('aria-describedby', describedBy)
      if (required) box.setAttribute('aria-required', 'true')
      return { content: box, box }
    },
  )
  listen(input, 'input', () => {
    showError()
  })
  const isCheckbox = input instanceof HTMLInputElement && input.type === 'checkbox'
  if (isCheckbox) node.classList.add('check')
  const currentText = (): string => (isCheckbox ? String(input.checked) : input.value)
  const isUntouched = (): boolean => original?.text === currentText()
  const read = (): unknown =>
    isUntouched() ? original?.value : parseInput(field, currentText(), options.isNew)
  const show = (value: unknown): void => {
    if (isCheckbox) input.checked = value === true
    else input.value = toInputText(field, value)
  }
  const write = (value: unknown): void => {
    show(value)
    original = { text: currentText(), value }
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
    showError,
    findError: () => {
      if (isUntouched()) return undefined
      const value = read()
      if (value instanceof Unreadable) return toFieldError(field, 'type', mustBe(field.kind))
      return findFieldError(field, value, options.isNew && options.isBulk !== true)
    },
  }
}

/** Texts that may be longer have a text area. 255 is what many databases allow for a line. */
const maxLineLength = 255

const isLongText = ({ kind, list, maxLength = 0, oneOf }: FieldInfo): boolean =>
  oneOf === undefined &&
  (list === true ||
    controlTypes[kind.control].textarea !== undefined ||
    (kind.isFreeText && maxLength > maxLineLength))

function helpOf(field: FieldInfo): string | undefined {
  const more = hasLines(field) ? translate('onePerLine') : undefined
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
      hasNone && el('option', { value: '' }, isBulk ? translate('unchanged') : '–'),
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
  const members = (field.fields ?? []).map((member) => makeControl(member, options))
  const [firstMember] = members
  const errorNode = el('p', { class: 'field-error' })
  const label = labelOf(field)
  const node = el(
    'fieldset',
    { class: 'wide' },
    el('legend', {}, label, star(field.required)),
    el('div', { class: 'fields' }, ...members.map((member) => member.node)),
    errorNode,
  )
  const read = (): unknown => {
    const entries = members.map((member) => [member.name, member.read()] as const)
    const values = entries.filter(([, value]) => value !== undefined)
    // A checkbox that is not checked counts as empty.
    const isEmpty = values.every(([, value]) => value === '' || value === null || value === false)
    if (isEmpty && field.required !== true) return field.nullable === true ? null : undefined
    return Object.fromEntries(values)
  }
  const memberAt = (path: string): { member: Control | undefined; rest: string } => {
    const [name, ...rest] = path.split('.')
    return { member: members.find((member) => member.name === name), rest: rest.join('.') }
  }
  return {
    name: field.name,
    label,
    node,
    read,
    write: (value) => {
      const values = (value ?? {}) as Record<string, unknown>
      for (const member of members) member.write(values[member.name])
    },
    focus: () => {
      firstMember?.focus()
    },
    labelAt: (path) => {
      const { member, rest } = memberAt(path)
      return member === undefined ? label : labelBelow(member, rest)
    },
    showError: (message, path = '') => {
      const { member, rest } = memberAt(path)
      if (message === undefined) for (const one of members) one.showError(undefined)
      member?.showError(message, rest)
      errorNode.textContent = member === undefined ? (message ?? '') : ''
    },
    findError: () => {
      if (read() === undefined || read() === null) return undefined
      for (const member of members) {
        const error = member.findError()
        if (error !== undefined) return { ...error, path: joinPath(member.name, error.path) }
      }
      return undefined
    },
  }
}
