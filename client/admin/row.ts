/** The view of a row: its form, read-only values, related rows, actions and history. */
import { el, replace, type Child, put } from './element.js'
import { showError, showStatus } from './notices.js'
import { link, pathTo, go } from './navigation.js'
import {
  displayLabel,
  isEditedInForm,
  type RecordInfo,
  type PageRow,
  titleOf,
  fieldOf,
  may,
} from './schema.js'
import { isEqual } from './compare-values.js'
import { deleteStored, isStale, readStored, writeStored, type StoredRow } from './stored-row.js'
import { toFieldText } from './field-values.js'
import { statusOf } from './requests.js'
import { makeRelated } from './related.js'
import { actionButtons } from './row-actions.js'
import { showConflict, type FieldConflict } from './conflict.js'
import { confirmInDialog } from './dialog.js'
import { makeRecordForm, type Form } from './form.js'
import { makeHistoryButton } from './history.js'
import { descriptionList, readOnlyValues } from './row-values.js'
import { translate } from './translate.js'
import { openView, type PageView } from './view.js'

export async function showRow(record: RecordInfo, key: string): Promise<void> {
  const view = openView(record, `${record.one} ${key}`)
  view.show(el('p', { class: 'quiet-words' }, translate('loading')))
  let stored: StoredRow
  try {
    stored = await readStored(record, key)
  } catch (error) {
    if (!view.isOpen()) return
    if (![404, 400].includes(statusOf(error))) throw error
    view.show(
      el('p', {}, link(pathTo(record.path), {}, translate('allRows', { many: record.label }))),
    )
    showError(translate('noSuchRow', { one: record.one }))
    return
  }
  if (view.isOpen()) new RowView(record, key, view, stored).show()
}

class RowView {
  readonly #form: Form | undefined
  readonly #values = el('div', {})
  readonly #card = el('div', { class: 'card' })
  readonly #save = el('button', { type: 'submit', class: 'main' }, translate('save'))

  constructor(
    readonly record: RecordInfo,
    readonly key: string,
    readonly view: PageView,
    private stored: StoredRow,
  ) {
    const isChangeable = may(record, 'update')
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
    this.#drawValues()
    const related = (record.relations ?? [])
      .filter((one) => one.kind === 'many' && (form === undefined || !isEditedInForm(one)))
      .flatMap((relation) => makeRelated(record, relation, key) ?? [])
    put(
      this.#card,
      form?.node,
      form === undefined && may(record, 'delete') && this.#deleteButton(),
      this.#values,
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
        may(record, 'create') &&
          link(pathTo(record.path, key, 'copy'), { class: 'button' }, translate('duplicate')),
        record.history === true && makeHistoryButton(record, key, this.#card),
      ),
      this.#card,
      ...related.map(({ node }) => node),
    )
    this.#name()
    Promise.all(related.map(({ load }) => load()))
      .then(view.settle)
      .catch(showError)
  }

  #name(): void {
    this.view.name(titleOf(this.record, this.stored.row))
  }

  #savedText(): string {
    const { record } = this
    return translate('rowSaved', { one: record.one, title: titleOf(record, this.stored.row) })
  }

  #deleteButton(): Child {
    if (!may(this.record, 'delete')) return null
    return el(
      'button',
      { type: 'button', class: 'grave quiet', onclick: () => this.#delete() },
      translate('delete'),
    )
  }

  async #reload(): Promise<void> {
    this.stored = await readStored(this.record, this.key)
    this.#form?.load(this.stored.row)
    this.#drawValues()
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

  /** Shows the values that cannot be edited. */
  #drawValues(): void {
    const { record } = this
    const fields = record.fields.filter(
      ({ readOnly, immutable, name }) =>
        (this.#form === undefined || readOnly === true || immutable === true) &&
        name in this.stored.row,
    )
    const showsAllFields = this.#form === undefined
    replace(
      this.#values,
      fields.length > 0 && readOnlyValues(record, fields, this.stored.row, showsAllFields),
    )
  }

  async #submit(): Promise<void> {
    const form = this.#form
    if (form?.check() !== true) return
    const values = form.read()
    if (Object.keys(values).length === 0) {
      showStatus(translate('nothingChanged'))
      return
    }
    try {
      await this.#write(values)
      await this.#reload()
      showStatus(this.#savedText())
    } catch (error) {
      if (error instanceof PendingConflict) return
      if (statusOf(error) === 404) this.#showDeleted()
      else form.showError(error)
    }
  }

  /** Writes unless another user has changed the same fields. */
  async #write(values: PageRow): Promise<void> {
    const { record, key } = this
    for (let attempt = 0; attempt < 5; attempt++) {
      const { row } = this.stored
      try {
        await writeStored(record, key, this.stored, values)
        return
      } catch (error) {
        if (!isStale(error)) throw error
        const theirs = await readStored(record, key)
        const differences = this.#compare(values, row, theirs.row)
        // Keep the changes of other users to fields that this form did not change.
        if (differences.length > 0) {
          this.#choose(values, differences, theirs)
          throw new PendingConflict()
        }
        this.stored = theirs
      }
    }
    throw new Error(translate('keepsChanging'))
  }

  #compare(mine: PageRow, before: PageRow, theirs: PageRow): FieldConflict[] {
    return (this.#form?.controls ?? []).flatMap((control) => {
      const { name } = control
      if (
        !(name in mine) ||
        isEqual(before[name], theirs[name]) ||
        isEqual(mine[name], theirs[name])
      )
        return []
      if (fieldOf(this.record, name) === undefined && !name.endsWith('Ids')) return []
      return [{ control, mine: mine[name], theirs: theirs[name], before: before[name] }]
    })
  }

  #choose(values: PageRow, differences: readonly FieldConflict[], theirs: StoredRow): void {
    const form = this.#form
    if (form === undefined) return
    const { record } = this
    const name = titleOf(record, this.stored.row)
    const done = (): void => {
      region.remove()
      this.#card.hidden = false
    }
    const region = showConflict(record, name, differences, {
      save: async (chosen) => {
        const changes = Object.fromEntries(
          Object.entries({ ...values, ...chosen }).filter(
            ([field, value]) => !isEqual(value, theirs.row[field]),
          ),
        )
        this.stored = theirs
        try {
          if (Object.keys(changes).length > 0) await this.#write(changes)
        } catch (error) {
          done()
          if (error instanceof PendingConflict) this.#card.hidden = true
          else if (statusOf(error) === 404) this.#showDeleted()
          else form.showError(error)
          return
        }
        done()
        await this.#reload()
        showStatus(this.#savedText())
        this.#save.focus()
      },
      cancel: () => {
        done()
        form.controls[0]?.focus()
      },
    })
    this.#card.hidden = true
    this.#card.before(region)
    region.querySelector('h2')?.focus()
  }

  #showDeleted(): void {
    this.#save.remove()
    showError(translate('deletedMeanwhile', { one: this.record.one }))
  }

  async #delete(): Promise<void> {
    const { record, key } = this
    const name = titleOf(record, this.stored.row)
    const help = record.bin === true ? 'deleteOneToBin' : 'deleteOne'
    let content: Child[] = [el('p', {}, translate(help, { one: record.one }))]
    for (;;) {
      const title = translate('deleteQuestion', { title: name })
      if (
        !(await confirmInDialog({
          title,
          content,
          confirmLabel: translate('delete'),
          isDangerous: true,
        }))
      )
        return
      const { row } = this.stored
      try {
        await deleteStored(record, key, this.stored)
        go(pathTo(record.path))
        showStatus(translate('rowDeleted', { one: record.one, title: name }))
        return
      } catch (error) {
        if (statusOf(error) === 404) {
          go(pathTo(record.path))
          showStatus(translate('deletedByOther', { one: record.one, title: name }))
          return
        }
        if (!isStale(error)) throw error
        const theirs = await readStored(record, key)
        content = [el('p', {}, translate('deleteAnyway')), changesOf(record, row, theirs.row)]
        this.stored = theirs
      }
    }
  }
}

/** Thrown after a conflict is shown: the user must choose first. */
class PendingConflict extends Error {}

/** The changes that other users made to a row. */
const changesOf = (record: RecordInfo, before: PageRow, theirs: PageRow): HTMLElement =>
  descriptionList(
    record.fields
      .filter(({ name }) => !isEqual(before[name], theirs[name]))
      .map((field) => [
        displayLabel(record, field),
        `${toFieldText(field, before[field.name])} → ${toFieldText(field, theirs[field.name])}`,
      ]),
  )
