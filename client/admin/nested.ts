/** Rows that belong to a row, changed in its form: sent as one change with it. */
import { el, icon, newId } from './element.js'
import { stamp, type Control } from './control.js'
import { makeControls } from './controls.js'
import { labelOf, may, type RecordInfo, type RelationInfo, type Row } from './schema.js'
import { lower } from './words.js'

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
