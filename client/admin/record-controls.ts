/** The controls of a record's form: of its fields, and of the relations that are changed with it. */
import { el, icon, newId, replace } from './element.js'
import {
  stamp,
  type Control,
  byText,
  frame,
  type ControlOptions,
  makeControl,
  orEmpty,
  withEmpty,
} from './field-controls.js'
import {
  labelOf,
  may,
  type RecordInfo,
  type RelationInfo,
  type Row,
  type FieldInfo,
  recordNamed,
} from './schema.js'
import { lower } from './format.js'
import { makePicker } from './picker.js'
import { knownTitle, lookUp, type Choice } from './titles.js'

/** Controls for the fields of a record or of the class of an action. */
export function makeControls(
  record: RecordInfo,
  options: ControlOptions,
  without: readonly string[] = [],
): Control[] {
  const { isNew, isLoose } = options
  const controls: Control[] = []
  for (const field of record.fields) {
    if (field.readOnly === true || without.includes(field.name)) continue
    const relation = record.relations?.find(({ name }) => name === field.by)
    const target = relation && recordNamed(relation.to)
    const control =
      relation !== undefined && target !== undefined
        ? makeRelation(relation, field, target, options)
        : makeControl(field, options)
    controls.push(isNew ? control : withEmpty(field, control, isLoose))
  }
  for (const relation of record.relations ?? []) {
    const target = recordNamed(relation.to)
    if (relation.kind !== 'ties' || relation.ids === undefined || target === undefined) continue
    const control = makeTies(relation, target, options)
    controls.push(isLoose === true ? orEmpty(control, []) : control)
  }
  return controls
}

/** The key of another row: chosen by its title. */
function makeRelation(
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
function makeTies(relation: RelationInfo, target: RecordInfo, options: ControlOptions): Control {
  const label = labelOf(relation)
  let chosen: Choice[] = []
  let isGiven = false
  const isTaken = (choice: Choice): boolean => chosen.some(({ key }) => key === choice.key)
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
      isTaken,
      onPick: (choice) => {
        if (choice === null || isTaken(choice)) return
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

interface Part {
  readonly key: unknown
  readonly controls: readonly Control[]
  readonly node: HTMLElement
  before: ReadonlyMap<string, string>
}

export function makeNested(relation: RelationInfo, target: RecordInfo): Control {
  const label = labelOf(relation)
  const parts = new Set<Part>()
  const gone: unknown[] = []
  const list = el('div', { class: 'parts' })
  const fault = el('p', { class: 'fault' })
  const add = (row: Row | undefined): Part => {
    const isNew = row === undefined
    const controls = makeControls(target, { isNew }, [relation.by ?? '']).filter(
      // What is tied to a part is changed on the part's own page.
      ({ name }) => target.fields.some((field) => field.name === name),
    )
    if (row !== undefined) for (const control of controls) control.write(row[control.name])
    const id = newId()
    const name = isNew ? `New ${lower(target.one)}` : `${target.one} ${String(row[target.key])}`
    const part: Part = {
      key: row?.[target.key],
      controls,
      before: new Map(controls.map((one) => [one.name, stamp(one.read())])),
      node: el(
        'div',
        { class: 'part', role: 'group', 'aria-labelledby': id },
        el('p', { class: 'part-name', id }, name),
        el('div', { class: 'fields' }, ...controls.map((one) => one.node)),
        may(target, 'd') || isNew
          ? el(
              'button',
              {
                ...{ type: 'button', class: 'quiet', 'aria-label': `Remove ${lower(name)}` },
                onclick: () => {
                  parts.delete(part)
                  part.node.remove()
                  if (!isNew) gone.push(part.key)
                  adder.focus()
                },
              },
              icon('cross'),
              'Remove',
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
      hidden: !may(target, 'c'),
    },
    icon('plus'),
    `Add ${lower(target.one)}`,
  )
  const node = el('fieldset', { class: 'wide' }, el('legend', {}, label), list, adder, fault)
  const changesOf = ({ controls, before, key }: Part): Row => {
    const given = controls
      .map((one) => [one.name, one.read()] as const)
      .filter(
        ([name, value]) =>
          value !== undefined && (key === undefined || before.get(name) !== stamp(value)),
      )
    return Object.fromEntries(given)
  }
  const made = (): Part[] => [...parts].filter(({ key }) => key === undefined)
  const changed = (): Part[] =>
    [...parts].filter((part) => part.key !== undefined && Object.keys(changesOf(part)).length > 0)
  return {
    ...{ name: relation.name, label, node },
    read: () => {
      const change = {
        ...(made().length > 0 && { create: made().map(changesOf) }),
        ...(changed().length > 0 && {
          update: changed().map((part) => ({ [target.key]: part.key, ...changesOf(part) })),
        }),
        ...(gone.length > 0 && { delete: gone }),
      }
      return Object.keys(change).length > 0 ? change : undefined
    },
    write: (rows) => {
      parts.clear()
      gone.length = 0
      list.replaceChildren()
      for (const row of Array.isArray(rows) ? (rows as Row[]) : []) add(row)
    },
    focus: () => {
      ;([...parts][0]?.controls[0] ?? adder).focus()
    },
    say: (words, path = '') => {
      const [kind = '', index = '', name = '', ...rest] = path.split('.')
      const group = kind === 'create' ? made() : kind === 'update' ? changed() : []
      const control = group[Number(index)]?.controls.find((one) => one.name === name)
      if (words === undefined)
        for (const part of parts) for (const one of part.controls) one.say(undefined)
      control?.say(words, rest.join('.'))
      fault.textContent = control === undefined ? (words ?? '') : ''
    },
    check: () => {
      for (const [kind, group] of [
        ['create', made()],
        ['update', changed()],
      ] as const)
        for (const [index, part] of group.entries())
          for (const one of part.controls) {
            const found = one.check(kind === 'create')
            if (found === undefined) continue
            const path = [kind, index, one.name, found.path].filter((step) => step !== '')
            return { path: path.join('.'), fault: found.fault }
          }
      return undefined
    },
  }
}
