/** The controls of relations: one row of another record, or many, found by their titles. */
import { byText, frame, type Control, type ControlOptions } from './control.js'
import { el, icon, replace } from './element.js'
import { makePicker } from './picker.js'
import { labelOf, type FieldInfo, type RecordInfo, type RelationInfo } from './schema.js'
import { knownTitle, lookUp, type Choice } from './titles.js'

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
