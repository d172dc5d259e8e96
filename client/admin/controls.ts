/** One control for each field: made by its kind, read as the value that the server takes. */
import { el, icon, listen, newId, replace, type Child } from './element.js'
import { makePicker, type PickerOptions } from './picker.js'
import { findFault } from './rules.js'
import {
  labelOf,
  numbers,
  recordNamed,
  type FieldInfo,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { knownTitle, lookUp, type Choice } from './titles.js'
import { asText, toSize } from './words.js'

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

type Box = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** A label, the control and the words below it. */
function frame(
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

class Unreadable {}

const isLongText = ({ kind, list, maxLength, oneOf, fields }: FieldInfo): boolean =>
  oneOf === undefined &&
  (kind === 'text' ||
    kind === 'json' ||
    list === true ||
    fields !== undefined ||
    (kind === 'string' && (maxLength ?? 0) > 250))

function helpOf({ help, list, fields, kind }: FieldInfo): string | undefined {
  const more = list === true && fields === undefined && kind !== 'json' ? 'One a line.' : undefined
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

/** @returns undefined for what is left out */
function readText(field: FieldInfo, raw: string, isNew: boolean): unknown {
  const { kind, list, nullable, fields } = field
  if (list === true && fields === undefined && kind !== 'json')
    return raw
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => readOne(kind, line))
  if (raw === '') {
    if (nullable === true) return isNew && field.default !== undefined ? undefined : null
    const isText = kind === 'string' || kind === 'text'
    if (isText && field.oneOf === undefined && !isNew) return ''
    if (isText && field.required === true && field.oneOf === undefined) return ''
    return isNew ? undefined : null
  }
  return readOne(fields === undefined ? kind : 'json', raw)
}

function readOne(kind: string, raw: string): unknown {
  if (kind === 'boolean') return raw === 'true'
  if (kind === 'integer' || kind === 'numeric' || kind === 'float') {
    const value = Number(raw.replace(',', '.'))
    return raw.trim() === '' || Number.isNaN(value) ? raw : value
  }
  if (kind === 'datetime') {
    const date = new Date(raw)
    return Number.isNaN(date.getTime()) ? raw : date.toISOString()
  }
  if (kind === 'json')
    try {
      return JSON.parse(raw) as unknown
    } catch {
      return new Unreadable()
    }
  return raw
}

function writeText(field: FieldInfo, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (field.kind === 'json' || field.fields !== undefined) return JSON.stringify(value, null, 2)
  if (Array.isArray(value)) return value.map(String).join('\n')
  if (field.kind === 'datetime') return toLocal(asText(value))
  return asText(value)
}

/** As the browser's control for moments has it. */
export function toLocal(value: string): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
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

/** The key of another row: chosen by its title. */
export function makeRelation(
  relation: RelationInfo,
  field: FieldInfo,
  target: RecordInfo,
  options: ControlOptions,
): Control {
  const label = labelOf(relation)
  const required = (field.required ?? relation.required) === true && options.isLoose !== true
  let value: unknown
  let show: (key: string | number | null) => void = () => undefined
  const { node, box, say } = frame({ label, help: field.help, required }, ({ id, describedBy }) => {
    const picker = makePicker({
      ...{ label, record: target, describedBy, required, create: options.create },
      onPick: (choice) => {
        value = choice === null ? (field.nullable === true ? null : undefined) : choice.key
        say()
        node.dispatchEvent(new Event('input', { bubbles: true }))
      },
    })
    picker.input.id = id
    show = picker.show
    return { content: picker.node, box: picker.input }
  })
  return {
    ...{ name: field.name, label, node },
    read: () => value,
    write: (given) => {
      value = given ?? (field.nullable === true ? null : undefined)
      show((given ?? null) as string | number | null)
    },
    focus: () => {
      box.focus()
    },
    say: (fault) => {
      say(fault)
    },
    check: (isNew) =>
      options.isLoose === true ||
      value !== undefined ||
      !(required || (!isNew && field.nullable !== true))
        ? undefined
        : { path: '', fault: 'is required' },
  }
}

/** Rows of the other record that are tied to this one. */
export function makeTies(
  relation: RelationInfo,
  target: RecordInfo,
  options: ControlOptions,
): Control {
  const label = labelOf(relation)
  let chosen: Choice[] = []
  let isGiven = false
  const list = el('ul', { class: 'chosen', 'aria-label': `${label} chosen` })
  const draw = (): void => {
    list.hidden = chosen.length === 0
    replace(
      list,
      ...chosen.map((choice) =>
        el(
          'li',
          {},
          choice.title,
          el(
            'button',
            {
              type: 'button',
              'aria-label': `Remove ${choice.title}`,
              onclick: () => {
                chosen = chosen.filter((one) => one !== choice)
                change()
                box.focus()
              },
            },
            icon('cross'),
          ),
        ),
      ),
    )
  }
  const change = (): void => {
    isGiven = true
    draw()
    node.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const { node, box, say } = frame({ label, isWide: true }, ({ id, describedBy }) => {
    const picker = makePicker({
      ...{ label, record: target, describedBy, isMany: true, create: options.create },
      onPick: (choice) => {
        if (choice === null || chosen.some(({ key }) => key === choice.key)) return
        chosen.push(choice)
        say()
        change()
      },
    })
    picker.input.id = id
    return { content: el('div', { class: 'ties' }, list, picker.node), box: picker.input }
  })
  draw()
  return {
    name: relation.ids ?? `${relation.name}Ids`,
    ...{ label, node },
    read: () => (isGiven ? chosen.map(({ key }) => key).sort(byText) : undefined),
    write: (given) => {
      const keys = Array.isArray(given) ? (given as (string | number)[]) : undefined
      isGiven = keys !== undefined
      chosen = (keys ?? []).map((key) => ({ key, title: knownTitle(target, key) }))
      draw()
      lookUp(target, keys ?? [])
        .then(() => {
          chosen = chosen.map(({ key }) => ({ key, title: knownTitle(target, key) }))
          draw()
        })
        .catch(() => undefined)
    },
    focus: () => {
      box.focus()
    },
    say: (fault) => {
      say(fault)
    },
    check: () => undefined,
  }
}

/** By which two values are told apart. */
export const stamp = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

export const byText = (one: unknown, other: unknown): number =>
  String(one) < String(other) ? -1 : 1

/** Controls for the fields of a record or of the class of an action. */
export function makeControls(
  record: RecordInfo,
  options: ControlOptions,
  without: readonly string[] = [],
): Control[] {
  const controls: Control[] = []
  for (const field of record.fields) {
    if (field.readOnly === true || without.includes(field.name)) continue
    const relation = record.relations?.find(({ name }) => name === field.by)
    const target = relation && recordNamed(relation.to)
    controls.push(
      relation !== undefined && target !== undefined
        ? makeRelation(relation, field, target, options)
        : makeControl(field, options),
    )
  }
  for (const relation of record.relations ?? []) {
    const target = recordNamed(relation.to)
    if (relation.kind === 'ties' && relation.ids !== undefined && target !== undefined)
      controls.push(makeTies(relation, target, options))
  }
  return controls
}

/** The server's words begin with a property's name, which the label says already. */
export const faultOf = (label: string, words: string): string => `${label} ${words}`
