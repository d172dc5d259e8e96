/** One row: its form, what cannot be changed, its relations, actions and history. */
import { el, replace, type Child, icon, refuse, put, say } from './element.js'
import { link, pathTo, go } from './navigation.js'
import {
  labelOf,
  recordNamed,
  shownLabel,
  type FieldInfo,
  type RecordInfo,
  type Row,
  keyOf,
  titleOf,
  type RelationInfo,
  fieldOf,
  may,
} from './schema.js'
import { isSame, deleteStored, isStale, readStored, writeStored, type Stored } from './stored.js'
import { knownTitle, lookUp } from './titles.js'
import { asText, toText, lower } from './format.js'
import { ask, rowsOf, statusOf } from './requests.js'
import { actionButtons } from './row-actions.js'
import { showConflict, type Difference } from './conflict.js'
import { confirm } from './dialog.js'
import { makeRecordForm, type Form } from './form.js'
import { historyButton } from './history.js'
import { openView, type View } from './view.js'

export async function showRow(record: RecordInfo, key: string): Promise<void> {
  const view = openView(record, `${record.one} ${key}`)
  view.show(el('p', { class: 'quiet-words' }, 'Loading…'))
  let stored: Stored
  try {
    stored = await readStored(record, key)
  } catch (error) {
    if (!view.isOpen()) return
    if (![404, 400].includes(statusOf(error))) throw error
    view.show(el('p', {}, link(pathTo(record.path), {}, `All ${lower(record.label)}`)))
    refuse(`There is no such ${lower(record.one)}, or it is not for you.`)
    return
  }
  if (view.isOpen()) new RowView(record, key, view, stored).show()
}

class RowView {
  readonly #form: Form | undefined
  readonly #facts = el('div', {})
  readonly #place = el('div', { class: 'card' })
  readonly #save = el('button', { type: 'submit', class: 'main' }, 'Save')

  constructor(
    readonly record: RecordInfo,
    readonly key: string,
    readonly view: View,
    private stored: Stored,
  ) {
    const isChangeable = may(record, 'u')
    this.#form = isChangeable
      ? makeRecordForm(record, {
          isNew: false,
          hasNested: true,
          onSubmit: () => this.#submit(),
          buttons: [this.#save, this.#deleteButton()],
        })
      : undefined
  }

  show(): void {
    const { record, key, view } = this
    const form = this.#form
    form?.load(this.stored.row)
    this.#drawFacts()
    const related = (record.relations ?? []).filter(
      ({ kind, nested }) => kind === 'many' && !(nested === true && form !== undefined),
    )
    put(
      this.#place,
      form?.node,
      form === undefined && may(record, 'd') && this.#deleteButton(),
      this.#facts,
    )
    view.show(
      el(
        'div',
        { class: 'bar' },
        ...actionButtons(
          record,
          () => [key],
          () => this.#reloadIfThere(),
        ),
        record.history === true && historyButton(record, key, this.#place),
      ),
      this.#place,
      ...related.map((relation) => listRelated(relation, key)),
    )
    this.#name()
  }

  #name(): void {
    this.view.name(titleOf(this.record, this.stored.row))
  }

  #deleteButton(): Child {
    if (!may(this.record, 'd')) return null
    return el(
      'button',
      { type: 'button', class: 'grave quiet', onclick: () => this.#delete() },
      'Delete',
    )
  }

  async #reload(): Promise<void> {
    this.stored = await readStored(this.record, this.key)
    this.#form?.load(this.stored.row)
    this.#drawFacts()
    this.#name()
  }

  /** An action may have deleted the row. */
  async #reloadIfThere(): Promise<void> {
    try {
      await this.#reload()
    } catch (error) {
      if (statusOf(error) !== 404) throw error
      go(pathTo(this.record.path))
    }
  }

  /** What cannot be changed here. */
  #drawFacts(): void {
    const { record } = this
    const fields = record.fields.filter(
      ({ readOnly, name }) =>
        (this.#form === undefined || readOnly === true) && name in this.stored.row,
    )
    const isWhole = this.#form === undefined
    replace(this.#facts, fields.length > 0 && factsOf(record, fields, this.stored.row, isWhole))
  }

  async #submit(): Promise<void> {
    const form = this.#form
    if (form?.check() !== true) return
    const values = form.read()
    if (Object.keys(values).length === 0) {
      say('Nothing was changed.')
      return
    }
    try {
      await this.#write(values)
      await this.#reload()
      say(`${this.record.one} “${titleOf(this.record, this.stored.row)}” was saved.`)
    } catch (error) {
      if (error instanceof Waiting) return
      if (statusOf(error) === 404) this.#gone()
      else form.refuse(error)
    }
  }

  /** Writes unless somebody else changed the same fields meanwhile. */
  async #write(values: Row): Promise<void> {
    const { record, key } = this
    for (let turn = 0; turn < 5; turn++) {
      const { row } = this.stored
      try {
        await writeStored(record, key, this.stored, values)
        return
      } catch (error) {
        if (!isStale(error)) throw error
        const theirs = await readStored(record, key)
        const differences = this.#compare(values, row, theirs.row)
        // What they changed and this form did not stays theirs.
        if (differences.length > 0) {
          this.#choose(values, differences, theirs)
          throw new Waiting()
        }
        this.stored = theirs
      }
    }
    throw new Error('Others keep changing this row. Try again.')
  }

  #compare(mine: Row, was: Row, theirs: Row): Difference[] {
    return (this.#form?.controls ?? []).flatMap((control) => {
      const { name } = control
      if (!(name in mine) || isSame(was[name], theirs[name]) || isSame(mine[name], theirs[name]))
        return []
      if (fieldOf(this.record, name) === undefined && !name.endsWith('Ids')) return []
      return [{ control, mine: mine[name], theirs: theirs[name], was: was[name] }]
    })
  }

  #choose(values: Row, differences: readonly Difference[], theirs: Stored): void {
    const form = this.#form
    if (form === undefined) return
    const { record } = this
    const name = titleOf(record, this.stored.row)
    const done = (): void => {
      region.remove()
      this.#place.hidden = false
    }
    const region = showConflict(record, name, differences, {
      save: async (chosen) => {
        const kept = Object.fromEntries(
          Object.entries({ ...values, ...chosen }).filter(
            ([field, value]) => !isSame(value, theirs.row[field]),
          ),
        )
        this.stored = theirs
        try {
          if (Object.keys(kept).length > 0) await this.#write(kept)
        } catch (error) {
          done()
          if (error instanceof Waiting) this.#place.hidden = true
          else if (statusOf(error) === 404) this.#gone()
          else form.refuse(error)
          return
        }
        done()
        await this.#reload()
        say(`${record.one} “${titleOf(record, this.stored.row)}” was saved.`)
        this.#save.focus()
      },
      cancel: () => {
        done()
        form.controls[0]?.focus()
      },
    })
    this.#place.hidden = true
    this.#place.before(region)
    region.querySelector('h2')?.focus()
  }

  #gone(): void {
    this.#save.disabled = true
    refuse(
      `This ${lower(this.record.one)} was deleted meanwhile. Nothing was saved, and it was not made again.`,
    )
  }

  async #delete(): Promise<void> {
    const { record, key } = this
    const name = titleOf(record, this.stored.row)
    let words: Child[] = [el('p', {}, `This deletes 1 ${lower(record.one)}. It cannot be undone.`)]
    for (;;) {
      const title = `Delete “${name}”?`
      if (!(await confirm({ title, words, yes: 'Delete', isGrave: true }))) return
      const { row } = this.stored
      try {
        await deleteStored(record, key, this.stored)
        go(pathTo(record.path))
        say(`${record.one} “${name}” was deleted.`)
        return
      } catch (error) {
        if (statusOf(error) === 404) {
          go(pathTo(record.path))
          say(`${record.one} “${name}” was deleted meanwhile by somebody else.`)
          return
        }
        if (!isStale(error)) throw error
        const theirs = await readStored(record, key)
        words = [
          el('p', {}, 'Somebody changed it meanwhile. Delete it all the same?'),
          changesOf(record, row, theirs.row),
        ]
        this.stored = theirs
      }
    }
  }
}

/** Somebody is asked which of two values to keep. */
class Waiting extends Error {}

type Fact = readonly [name: string, value: Child]

const facts = (entries: readonly Fact[]): HTMLElement => {
  const list = el('dl', { class: 'facts' })
  replace(list, ...entries.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]))
  return list
}

/** @param hasTies the rows that are tied to it, too */
function factsOf(
  record: RecordInfo,
  fields: readonly FieldInfo[],
  row: Row,
  hasTies: boolean,
): HTMLElement {
  const ties = (record.relations ?? []).flatMap((relation): Fact[] => {
    const target = recordNamed(relation.to)
    const keys = relation.ids === undefined ? undefined : row[relation.ids]
    if (!hasTies || target === undefined || !Array.isArray(keys)) return []
    return [[labelOf(relation), toText(keys.map((key) => knownTitle(target, key)))]]
  })
  return facts([
    ...fields.map((field): Fact => [shownLabel(record, field), valueOf(record, field, row)]),
    ...ties,
  ])
}

function valueOf(record: RecordInfo, field: FieldInfo, row: Row): Child {
  const value = row[field.name]
  const relation = record.relations?.find(({ name }) => name === field.by)
  const target = relation && recordNamed(relation.to)
  if (target === undefined || value === null || value === undefined)
    return toText(value, field.kind)
  const anchor = link(pathTo(target.path, asText(value)), {}, knownTitle(target, value))
  lookUp(target, [value])
    .then(() => {
      anchor.textContent = knownTitle(target, value)
    })
    .catch(() => undefined)
  return anchor
}

/** What others have made of a row. */
const changesOf = (record: RecordInfo, was: Row, theirs: Row): HTMLElement =>
  facts(
    record.fields
      .filter(({ name }) => !isSame(was[name], theirs[name]))
      .map((field) => [
        shownLabel(record, field),
        `${toText(was[field.name], field.kind)} → ${toText(theirs[field.name], field.kind)}`,
      ]),
  )

/** The rows that refer to a row: the first of them, and the way to all. */

const most = 10

function listRelated(relation: RelationInfo, key: string): HTMLElement | null {
  const target = recordNamed(relation.to)
  const { by } = relation
  if (target === undefined || by === undefined) return null
  const list = el('ul', { class: 'related' })
  const label = labelOf(relation)
  const fields = [...new Set([target.key, target.title])].join(',')
  const params = { [by]: key, fields, limit: most + 1, count: 'none' }
  ask<Row[]>('GET', rowsOf(target), { params })
    .then(({ data }) => {
      const items = data
        .slice(0, most)
        .map((row) =>
          el('li', {}, link(pathTo(target.path, keyOf(target, row)), {}, titleOf(target, row))),
        )
      const all = `${pathTo(target.path)}?${by}=${encodeURIComponent(key)}`
      replace(
        list,
        ...items,
        items.length === 0 && el('li', { class: 'quiet-words' }, `No ${lower(label)}.`),
        data.length > most && el('li', {}, link(all, {}, `All ${lower(label)}`, icon('right'))),
      )
    })
    .catch(refuse)
  return el('section', { class: 'card', 'aria-label': label }, el('h2', {}, label), list)
}
