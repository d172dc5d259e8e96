/** Components of the application: ES modules that draw cells, edit fields and show pages of their own. */
import { createClient } from '../index.js'
import { star, type Control, type ControlOptions } from './control.js'
import { el, newId, replace } from './element.js'
import { findFieldError } from './field-rules.js'
import { language } from './language.js'
import { errorText, usesStoredToken } from './requests.js'
import {
  displayLabel,
  type FieldInfo,
  type OwnPage,
  type PageRow,
  type RecordInfo,
} from './schema.js'
import { translate } from './translate.js'
import { openView } from './view.js'

type Component = (props: object) => unknown

const { prefix = '' } = document.body.dataset
const components = new Map<string, Promise<Component>>()

function loadComponent(path: string): Promise<Component> {
  const loading = components.get(path) ?? importComponent(path)
  components.set(path, loading)
  return loading
}

async function importComponent(path: string): Promise<Component> {
  const loaded = (await import(prefix + path)) as { default?: unknown }
  if (typeof loaded.default !== 'function')
    throw new Error(`${path} has no function as its default export.`)
  return loaded.default as Component
}

/** Calls a component. What it throws is shown in its element, and the rest of the page works on. */
async function mount(path: string, element: HTMLElement, props: object): Promise<void> {
  try {
    const component = await loadComponent(path)
    replace(element)
    const client = createClient({ auth: usesStoredToken() })
    await component({ element, client, language, ...props })
  } catch (error) {
    const message = translate('componentFailed', { path, error: errorText(error) })
    replace(element, el('span', { class: 'field-error' }, message))
  }
}

const infoOf = ({ name, path }: RecordInfo): object => ({ name, path })

/** A cell of a list. It has the text of the value until its component draws it. */
export function makeCell(
  record: RecordInfo,
  { row, value, path }: { row: PageRow; value: unknown; path: string },
  text: string,
): HTMLElement {
  const element = el('div', {}, text)
  // A list makes cells to compare their texts, and shows only those of rows that have changed.
  queueMicrotask(() => {
    if (element.isConnected)
      void mount(path, element, { value: value ?? null, row, record: infoOf(record) })
  })
  return element
}

/** The control of a field whose input is a component. */
export function makeComponentControl(
  record: RecordInfo,
  field: FieldInfo,
  { path, options }: { path: string; options: ControlOptions },
): Control {
  const label = displayLabel(record, field)
  const [labelId, errorId] = [newId(), newId()]
  const errorNode = el('p', { class: 'field-error', id: errorId })
  const area = el('div', { class: 'component' })
  const required = field.required === true && options.isBulk !== true
  const node = el(
    'fieldset',
    { class: 'wide', 'aria-describedby': errorId },
    el('legend', { id: labelId }, label, star(required)),
    area,
    field.help !== undefined && el('p', { class: 'help' }, field.help),
    errorNode,
  )
  let value: unknown
  const change = (newValue: unknown): void => {
    value = newValue
    errorNode.textContent = ''
    node.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const draw = (): void => {
    const element = el('div', {})
    replace(area, element)
    void mount(path, element, { value, change, record: infoOf(record) })
  }
  const write = (newValue: unknown): void => {
    value = newValue
    draw()
  }
  write(options.isNew ? field.default : undefined)
  return {
    name: field.name,
    label,
    node,
    read: () => value,
    write,
    focus: () => {
      area.querySelector<HTMLElement>('input, select, textarea, button, [tabindex]')?.focus()
    },
    showError: (message) => {
      errorNode.textContent = message ?? ''
    },
    findError: () => findFieldError(field, value, options.isNew && options.isBulk !== true),
  }
}

/** A page of the application beside the records. */
export async function showOwnPage({ title, script }: OwnPage): Promise<void> {
  const view = openView(undefined, title, false)
  const element = el('div', {})
  view.show(element)
  await mount(script, element, { signal: view.signal })
}
