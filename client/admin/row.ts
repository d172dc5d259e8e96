/** One row: its form, what cannot be changed, its relations, actions and history. */
import { actionButtons } from './actions.js'
import { showConflict, type Difference } from './conflict.js'
import { confirm } from './dialog.js'
import { el, put, replace, type Child } from './element.js'
import { changesOf, factsOf } from './facts.js'
import { makeRecordForm, type Form } from './form.js'
import { statusOf } from './faults.js'
import { historyButton } from './history.js'
import { refuse, say } from './notice.js'
import { listRelated } from './related.js'
import { go, link, pathTo } from './route.js'
import { fieldOf, may, titleOf, type RecordInfo, type Row } from './schema.js'
import { deleteStored, isSame, isStale, readStored, writeStored, type Stored } from './stored.js'
import { openView, type View } from './view.js'
import { lower } from './words.js'

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
