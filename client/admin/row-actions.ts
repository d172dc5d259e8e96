/** The buttons that change selected rows: edit, delete, and the application's own actions. */
import { api } from './requests.js'
import type { BulkChange } from './bulk-change.js'
import { el, replace, type Child } from './element.js'
import { showError } from './notices.js'
import { makeClassForm, makeRecordForm, markBusy } from './form.js'
import { confirmLeave } from './navigation.js'
import { type ActionInfo, type RecordInfo, may } from './schema.js'
import { withCount } from './format.js'
import { translate } from './translate.js'

export interface BulkOptions {
  readonly keys: () => readonly string[]
  readonly clearSelection: () => void
  /** Selects all rows that match the filter of the list. @param report receives the number of rows so far */
  readonly selectAll: (report: (count: number) => void) => Promise<void>
  /** Reloads the list. */
  readonly reload: () => Promise<void>
}

export interface BulkBar {
  readonly node: HTMLElement
  /**
   * @param count the number of selected rows
   * @param offer the button that selects all matching rows: `Select all 317 that match`, or undefined if all are selected
   */
  readonly show: (count: number, offer: string | undefined) => void
}

/** Whether the caller may do anything with selected rows. */
export const hasBulkActions = (record: RecordInfo): boolean =>
  may(record, 'update') ||
  may(record, 'delete') ||
  (record.actions ?? []).some(({ bulk }) => bulk === true)

/** The bar of actions for the selected rows. It is visible while rows are selected. */
export function makeBulkBar(
  record: RecordInfo,
  { keys, clearSelection, selectAll, reload }: BulkOptions,
): BulkBar {
  const count = el('span', { role: 'status', class: 'count' })
  const button = (name: string, onclick: () => unknown, more = ''): HTMLElement =>
    el('button', { type: 'button', class: more, onclick }, name)
  const showCount = (selected: number): void => {
    count.textContent =
      selected === 0 ? '' : translate('selected', { rows: withCount(selected, record) })
  }
  const all = el('button', {
    type: 'button',
    class: 'quiet',
    hidden: true,
    onclick: async () => {
      const release = markBusy(node)
      try {
        await selectAll((selected) => {
          count.textContent = translate('selecting', { rows: withCount(selected, record) })
        })
      } finally {
        release()
        showCount(keys().length)
      }
    },
  })
  const node = el(
    'div',
    { class: 'bulk', role: 'group', 'aria-label': translate('selectedRows'), hidden: true },
    count,
    all,
    button(translate('selectNone'), clearSelection, 'quiet'),
    el(
      'div',
      { class: 'doings' },
      may(record, 'update') &&
        button(translate('editSelected'), () => editMany(record, keys(), reload)),
      ...actionButtons(record, keys, reload, true),
      may(record, 'delete') &&
        button(
          translate('deleteSelected'),
          () => deleteMany(record, keys(), reload),
          'grave quiet',
        ),
    ),
  )
  const show = (selected: number, offer: string | undefined): void => {
    node.hidden = selected === 0
    showCount(selected)
    all.hidden = offer === undefined
    replace(all, offer)
  }
  return { node, show }
}

async function openChange(change: BulkChange): Promise<void> {
  const { openBulkChange } = await import('./bulk-change.js')
  openBulkChange(change)
}

function editMany(
  record: RecordInfo,
  keys: readonly string[],
  reload: () => Promise<void>,
): Promise<void> {
  return openChange({
    record,
    keys,
    reload,
    title: translate('editMany', { rows: withCount(keys.length, record) }),
    description: el('p', {}, translate('editManyHelp')),
    path: api(`bulk/${record.path}`),
    verb: translate('save'),
    toDoneText: (count) => translate('savedMany', { rows: withCount(count, record) }),
    form: (onSubmit, buttons) =>
      makeRecordForm(record, { isNew: false, isBulk: true, onSubmit, buttons }),
    body: (form) => {
      if (form?.check() !== true) return undefined
      const values = form.read()
      if (Object.keys(values).length > 0) return { values }
      showError(translate('fillOne'))
      return undefined
    },
  })
}

function deleteMany(
  record: RecordInfo,
  keys: readonly string[],
  reload: () => Promise<void>,
): Promise<void> {
  return openChange({
    record,
    keys,
    reload,
    title: translate('deleteMany', { rows: withCount(keys.length, record) }),
    description: el('p', {}, translate(record.bin === true ? 'goToBin' : 'cannotUndo')),
    path: api(`bulk/${record.path}`),
    verb: translate('delete'),
    toDoneText: (count) => translate('deletedMany', { rows: withCount(count, record) }),
    isDangerous: true,
    body: () => ({ remove: true }),
  })
}

/**
 * @param keys the keys of the rows
 * @param reload shows the rows after the action
 */
export function actionButtons(
  record: RecordInfo,
  keys: () => readonly string[],
  reload: () => Promise<void>,
  isBulk = false,
): HTMLElement[] {
  return (record.actions ?? [])
    .filter(({ bulk }) => !isBulk || bulk === true)
    .map((action) =>
      el(
        'button',
        {
          type: 'button',
          class: action.danger === true ? 'grave quiet' : undefined,
          onclick: async () => {
            // The reload after the action discards unsaved changes.
            if (await confirmLeave()) await runAction(record, action, keys(), reload)
          },
        },
        action.label,
      ),
    )
}

function runAction(
  record: RecordInfo,
  { name, label, fields = [], danger }: ActionInfo,
  keys: readonly string[],
  reload: () => Promise<void>,
): Promise<void> {
  const rows = withCount(keys.length, record)
  const isDangerous = danger === true
  const hasForm = fields.length > 0 || !isDangerous
  return openChange({
    record,
    keys,
    reload,
    title: isDangerous ? translate('confirmAction', { label, rows }) : label,
    description: el(
      'p',
      {},
      isDangerous ? translate('cannotUndo') : translate('runsFor', { rows }),
    ),
    path: api(`actions/${record.path}/${encodeURIComponent(name)}`),
    verb: isDangerous ? label : translate('run'),
    toDoneText: (count) => translate('actionDone', { label, rows: withCount(count, record) }),
    isDangerous,
    ...(hasForm && {
      form: (onSubmit: () => Promise<void>, buttons: readonly Child[]) =>
        makeClassForm(fields, { isNew: true, onSubmit, buttons }),
    }),
    body: (form) => {
      if (form !== undefined && !form.check()) return undefined
      return form === undefined || fields.length === 0 ? {} : { body: form.read() }
    },
  })
}
