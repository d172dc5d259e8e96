/** One row: its form, what cannot be changed, its relations, actions and history. */
import { actionButtons } from './actions.js'
import { api, ask, rowsOf } from './ask.js'
import { showConflict, type Difference } from './conflict.js'
import { byText } from './controls.js'
import { confirm } from './dialog.js'
import { el, put, replace, type Child } from './element.js'
import { facts, makeRecordForm, type Form } from './form.js'
import { statusOf } from './faults.js'
import { historyButton } from './history.js'
import { refuse, say } from './notice.js'
import { listRelated } from './related.js'
import { go, link, pathTo } from './route.js'
import {
  fieldOf,
  keyOf,
  may,
  recordNamed,
  shownLabel,
  titleOf,
  type FieldInfo,
  type RecordInfo,
  type Row,
} from './schema.js'
import { keep, knownTitle, lookUp } from './titles.js'
import { openView, type View } from './view.js'
import { asText, lower, toText } from './words.js'

/** A new row. */
export function showNew(record: RecordInfo): void {
  const view = openView(record, `New ${lower(record.one)}`)
  const form = makeRecordForm(record, {
    isNew: true,
    hasNested: true,
    onSubmit: async () => {
      if (!form.check()) return
      try {
        const { data } = await ask<Row>('POST', rowsOf(record), { body: form.read() })
        go(pathTo(record.path, keyOf(record, data)))
        say(`${record.one} “${titleOf(record, data)}” was created.`)
      } catch (error) {
        form.refuse(error)
      }
    },
    buttons: [
      el('button', { type: 'submit', class: 'main' }, 'Save'),
      link(pathTo(record.path), { class: 'button' }, 'Cancel'),
    ],
  })
  view.show(el('div', { class: 'card' }, form.node))
  form.controls[0]?.focus()
}

interface Stored {
  row: Row
  /** The version's tag, where the record has versions. */
  version: number | undefined
}

/** Reads a row with what its form shows: ties as keys, nested rows as a list. */
async function read(record: RecordInfo, key: string): Promise<Stored> {
  const relations = record.relations ?? []
  const ties = relations.filter(({ kind, ids }) => kind === 'ties' && ids !== undefined)
  const nested = relations.filter(({ kind, nested }) => kind === 'many' && nested === true)
  // Of tied rows only what names them.
  const tied = ties.flatMap(({ name, to }) => {
    const target = recordNamed(to)
    return target === undefined ? [] : [`${name}.${target.key}`, `${name}.${target.title}`]
  })
  const own = record.fields.map(({ name }) => name)
  const params: Record<string, string> =
    ties.length === 0
      ? {}
      : {
          with: ties.map(({ name }) => name).join(','),
          fields: [...new Set([...own, ...tied])].join(','),
        }
  const [{ data: row }, ...parts] = await Promise.all([
    ask<Row>('GET', rowsOf(record, key), { params }),
    ...nested.map((relation) => {
      const target = recordNamed(relation.to)
      if (target === undefined || relation.by === undefined) return { data: [] as Row[] }
      const asked = { [relation.by]: key, limit: 200, count: 'none', orderBy: target.key }
      return ask<Row[]>('GET', rowsOf(target), { params: asked })
    }),
  ])
  for (const relation of ties) {
    const target = recordNamed(relation.to)
    const others = (row[relation.name] ?? []) as Row[]
    Reflect.deleteProperty(row, relation.name)
    if (target !== undefined && relation.ids !== undefined)
      row[relation.ids] = others.map((other) => keep(target, other).key).sort(byText)
  }
  for (const [index, relation] of nested.entries()) row[relation.name] = parts[index]?.data
  return { row, version: record.version === undefined ? undefined : Number(row[record.version]) }
}

export async function showRow(record: RecordInfo, key: string): Promise<void> {
  const view = openView(record, `${record.one} ${key}`)
  view.show(el('p', { class: 'quiet-words' }, 'Loading…'))
  let stored: Stored
  try {
    stored = await read(record, key)
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
          () => this.#reload(),
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
    this.stored = await read(this.record, this.key)
    this.#form?.load(this.stored.row)
    this.#drawFacts()
    this.#name()
  }

  /** What cannot be changed here. */
  #drawFacts(): void {
    const { record } = this
    const fields = record.fields.filter(
      ({ readOnly, name }) =>
        (this.#form === undefined || readOnly === true) && name in this.stored.row,
    )
    const entries = fields.map(
      (field) => [shownLabel(record, field), factOf(record, field, this.stored.row)] as const,
    )
    replace(this.#facts, fields.length > 0 && facts(entries))
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
      const { row, version } = this.stored
      try {
        if (version === undefined)
          await ask('POST', api(`save/${record.path}/${key}`), {
            body: { was: this.#was(values), values },
          })
        else
          await ask('PATCH', rowsOf(record, key), {
            body: values,
            headers: { 'If-Match': `"${version}"` },
          })
        return
      } catch (error) {
        if (!isStale(error)) throw error
        const theirs = await read(record, key)
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

  /** What the changed fields held when they were read. */
  #was(values: Row): Row {
    const { row } = this.stored
    const { record } = this
    const names = Object.keys(values).filter(
      (name) =>
        fieldOf(record, name) !== undefined || record.relations?.some(({ ids }) => ids === name),
    )
    return Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
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
      const { row, version } = this.stored
      try {
        const was = Object.fromEntries(
          record.fields.map((field) => [field.name, row[field.name] ?? null]),
        )
        if (version === undefined)
          await ask('POST', api(`remove/${record.path}/${key}`), { body: { was } })
        else await ask('DELETE', rowsOf(record, key), { headers: { 'If-Match': `"${version}"` } })
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
        const theirs = await read(record, key)
        words = [
          el('p', {}, 'Somebody changed it meanwhile. Delete it all the same?'),
          facts(this.#changesOf(row, theirs.row)),
        ]
        this.stored = theirs
      }
    }
  }

  #changesOf(was: Row, theirs: Row): (readonly [string, Child])[] {
    return this.record.fields
      .filter(({ name }) => !isSame(was[name], theirs[name]))
      .map((field) => [
        shownLabel(this.record, field),
        `${toText(was[field.name], field.kind)} → ${toText(theirs[field.name], field.kind)}`,
      ])
  }
}

/** Somebody is asked which of two values to keep. */
class Waiting extends Error {}

/** Of a changed row: 409 `CHANGED`, 412, and 409 `CONFLICT` without a fault of a field. */
const isStale = (error: unknown): boolean =>
  statusOf(error) === 412 ||
  (statusOf(error) === 409 && (error as { data?: { code?: unknown } }).data?.code === 'CHANGED')

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

function factOf(record: RecordInfo, field: FieldInfo, row: Row): Child {
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
