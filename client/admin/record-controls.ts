/** The controls of a record's form: fields, relations, and nested rows. */
import { el, newId, replace } from './element.js'
import { icon } from './icon.js'
import { makeComponentControl } from './components.js'
import { fingerprint, byText } from './compare-values.js'
import {
  joinPath,
  labelBelow,
  labelledField,
  type Control,
  type ControlOptions,
} from './control.js'
import { addEmptyOption, addEmptyOptionIfNeeded } from './empty-option.js'
import { makeControl } from './field-controls.js'
import {
  keyInput,
  keyPartsOf,
  keyText,
  keyValueOf,
  labelOf,
  may,
  type RecordInfo,
  type RelationInfo,
  type PageRow,
  type FieldInfo,
  recordNamed,
} from './schema.js'
import { link, pathTo } from './navigation.js'
import { makePicker } from './picker.js'
import { References } from './references.js'
import { readOnlyValues } from './row-values.js'
import { cachedTitle, loadTitles, type RowChoice } from './titles.js'
import { translate } from './translate.js'

/** Creates controls for the fields and link relations of a record. */
export function makeControls(
  record: RecordInfo,
  options: ControlOptions,
  without: readonly string[] = [],
): Control[] {
  const { isNew, isBulk } = options
  const controls: Control[] = []
  const isFixed = ({ name, readOnly, immutable }: FieldInfo): boolean =>
    readOnly === true || (immutable === true && !isNew) || without.includes(name)
  const references = new References(record, { ...options, isFixed })
  for (const field of record.fields) {
    const picker = references.pickerOf(field)
    if (picker !== undefined) controls.push(picker.controlOf(field))
    if (picker !== undefined || isFixed(field)) continue
    const control =
      field.input === undefined
        ? makeControl(field, options)
        : makeComponentControl(record, field, { path: field.input, options })
    const extended = isNew ? control : addEmptyOptionIfNeeded(field, control, isBulk)
    controls.push(references.connect(field, extended))
  }
  for (const relation of record.relations ?? []) {
    const target = recordNamed(relation.to)
    if (relation.linkable !== true || relation.ids === undefined || target === undefined) continue
    const control = makeLinksControl(relation, target, options)
    controls.push(isBulk === true ? addEmptyOption(control, []) : control)
  }
  return [...controls, ...references.fixedControls()]
}

/** A control that holds the keys of the linked rows of a many-to-many relation. */
export function makeLinksControl(
  relation: RelationInfo,
  target: RecordInfo,
  options: ControlOptions,
): Control {
  const label = labelOf(relation)
  let chosen: RowChoice[] = []
  let isLoaded = false
  const isChosen = (choice: RowChoice): boolean => chosen.some(({ key }) => key === choice.key)
  const list = el('ul', { class: 'chosen', 'aria-label': translate('chosen', { label }) })
  const draw = (): void => {
    list.hidden = chosen.length === 0
    replace(
      list,
      ...chosen.map((choice) =>
        el(
          'li',
          {},
          link(pathTo(target.path, String(choice.key)), { dir: 'auto' }, choice.title),
          el(
            'button',
            {
              type: 'button',
              'aria-label': translate('removeName', { name: choice.title }),
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
    isLoaded = true
    draw()
    node.dispatchEvent(new Event('input', { bubbles: true }))
  }
  const { node, box, showError } = labelledField({ label, isWide: true }, ({ id, describedBy }) => {
    const picker = makePicker({
      label,
      record: target,
      describedBy,
      isMany: true,
      create: options.create,
      isExcluded: isChosen,
      onPick: (choice) => {
        if (choice === null || isChosen(choice)) return
        chosen.push(choice)
        showError()
        change()
      },
    })
    picker.input.id = id
    return { content: el('div', { class: 'linked-rows' }, list, picker.node), box: picker.input }
  })
  draw()
  return {
    name: relation.ids ?? `${relation.name}Ids`,
    label,
    node,
    read: () => (isLoaded ? chosen.map(({ key }) => key).sort(byText) : undefined),
    write: (newKeys) => {
      const keys = Array.isArray(newKeys) ? (newKeys as (string | number)[]) : undefined
      isLoaded = keys !== undefined
      chosen = (keys ?? []).map((key) => ({ key, title: cachedTitle(target, key) }))
      draw()
      loadTitles(target, keys ?? [])
        .then(() => {
          chosen = chosen.map(({ key }) => ({ key, title: cachedTitle(target, key) }))
          draw()
        })
        .catch(() => undefined)
    },
    focus: () => {
      box.focus()
    },
    showError,
    findError: () => undefined,
  }
}

interface NestedRowForm {
  readonly key: unknown
  readonly controls: readonly Control[]
  readonly node: HTMLElement
  before: ReadonlyMap<string, string>
}

function nestedControls({ by = '' }: RelationInfo, target: RecordInfo, isNew: boolean): Control[] {
  return makeControls(target, { isNew }, by.split(',')).filter(
    // Links of a nested row are edited on the page of that row.
    ({ name }) => target.fields.some((field) => field.name === name),
  )
}

export function makeNestedControl(relation: RelationInfo, target: RecordInfo): Control {
  const label = labelOf(relation)
  const parts = new Set<NestedRowForm>()
  const deletedKeys: unknown[] = []
  const shownFields = target.fields.filter(
    ({ name }) =>
      relation.by?.split(',').includes(name) !== true &&
      name !== target.key &&
      name !== target.version,
  )
  const list = el('div', { class: 'parts' })
  const errorNode = el('p', { class: 'field-error' })
  const add = (row: PageRow | undefined): NestedRowForm => {
    const isNew = row === undefined
    const isReadOnly = !isNew && !may(target, 'update')
    const controls = isReadOnly ? [] : nestedControls(relation, target, isNew)
    if (row !== undefined) for (const control of controls) control.write(row[control.name])
    const id = newId()
    const name = isNew
      ? translate('newRow', { one: target.one })
      : `${target.one} ${keyText(target, keyValueOf(target, row))}`
    const part: NestedRowForm = {
      key: row && keyValueOf(target, row),
      controls,
      before: new Map(controls.map((one) => [one.name, fingerprint(one.read())])),
      node: el(
        'div',
        { class: 'part', role: 'group', 'aria-labelledby': id },
        el('p', { class: 'part-name', id }, name),
        isReadOnly
          ? readOnlyValues(target, shownFields, row, false)
          : el('div', { class: 'fields' }, ...controls.map((one) => one.node)),
        may(target, 'delete') || isNew
          ? el(
              'button',
              {
                type: 'button',
                class: 'quiet',
                'aria-label': translate('removeRow', { name }),
                onclick: () => {
                  parts.delete(part)
                  part.node.remove()
                  if (!isNew) deletedKeys.push(part.key)
                  adder.focus()
                },
              },
              icon('cross'),
              translate('remove'),
            )
          : null,
      ),
    }
    parts.add(part)
    list.append(part.node)
    return part
  }
  const adder = el(
    'button',
    {
      type: 'button',
      onclick: () => add(undefined).controls[0]?.focus(),
      hidden: !may(target, 'create'),
    },
    icon('plus'),
    translate('addRow', { one: target.one }),
  )
  const node = el('fieldset', { class: 'wide' }, el('legend', {}, label), list, adder, errorNode)
  const changesOf = ({ controls, before, key }: NestedRowForm): PageRow => {
    const changes = controls
      .map((one) => [one.name, one.read()] as const)
      .filter(
        ([name, value]) =>
          value !== undefined && (key === undefined || before.get(name) !== fingerprint(value)),
      )
    return Object.fromEntries(changes)
  }
  /** The control at a path such as `create.0.text`, and the path below it. */
  const controlAt = (path: string): readonly [control: Control | undefined, rest: string] => {
    const [kind = '', index = '', name = '', ...rest] = path.split('.')
    const group = kind === 'create' ? createdParts() : kind === 'update' ? changedParts() : []
    return [group[Number(index)]?.controls.find((one) => one.name === name), rest.join('.')]
  }
  const createdParts = (): NestedRowForm[] => [...parts].filter(({ key }) => key === undefined)
  const changedParts = (): NestedRowForm[] =>
    [...parts].filter((part) => part.key !== undefined && Object.keys(changesOf(part)).length > 0)
  return {
    name: relation.name,
    label,
    node,
    read: () => {
      const change = {
        ...(createdParts().length > 0 && { create: createdParts().map(changesOf) }),
        ...(changedParts().length > 0 && {
          update: changedParts().map((part) => ({
            ...keyPartsOf(target, part.key),
            ...changesOf(part),
          })),
        }),
        ...(deletedKeys.length > 0 && {
          delete: deletedKeys.map((key) => keyInput(target, key)),
        }),
      }
      return Object.keys(change).length > 0 ? change : undefined
    },
    write: (rows) => {
      parts.clear()
      deletedKeys.length = 0
      list.replaceChildren()
      for (const row of Array.isArray(rows) ? (rows as PageRow[]) : []) add(row)
    },
    labelAt: (path) => {
      const [control, rest] = controlAt(path)
      return control === undefined ? label : labelBelow(control, rest)
    },
    focus: () => {
      ;([...parts][0]?.controls[0] ?? adder).focus()
    },
    showError: (message, path = '') => {
      const [control, rest] = controlAt(path)
      if (message === undefined)
        for (const part of parts) for (const one of part.controls) one.showError(undefined)
      control?.showError(message, rest)
      errorNode.textContent = control === undefined ? (message ?? '') : ''
    },
    findError: () => {
      for (const [kind, group] of [
        ['create', createdParts()],
        ['update', changedParts()],
      ] as const)
        for (const [index, part] of group.entries())
          for (const one of part.controls) {
            const error = one.findError()
            if (error === undefined) continue
            return { ...error, path: joinPath(kind, index, one.name, error.path) }
          }
      return undefined
    },
  }
}
