/**
 * Every text of the admin page, in English. Other languages have the same names. `{name}` stands for a value, and `{name|lower}` for
 * a value whose first letter is made small, because it is in the middle of a sentence. A text with a number may have a form for each
 * plural of the language, chosen by `{count}`: `{ one: '{count} row', other: '{count} rows' }`.
 *
 * `{one}` and `{many}` are the names of a record (`Ticket`, `Tickets`), `{title}` is the title of a row, and `{rows}` is a number of
 * rows with the record's name (`3 tickets`).
 */
export const english = {
  // Buttons and names of views.
  apply: 'Apply',
  back: 'Back',
  cancel: 'Cancel',
  check: 'Check',
  clear: 'Clear',
  close: 'Close',
  columns: 'Columns',
  delete: 'Delete',
  exportCsv: 'Export CSV',
  figures: 'Figures',
  filter: 'Filter',
  history: 'History',
  import: 'Import',
  loading: 'Loading…',
  menu: 'Menu',
  no: 'No',
  preview: 'Preview',
  records: 'Records',
  run: 'Run',
  save: 'Save',
  search: 'Search',
  yes: 'Yes',
  needsScript: 'This page needs JavaScript.',

  // Numbers of rows, and sizes.
  rows: '{count} {name|lower}',
  about: 'about {count}',
  moreThanRows: 'More than {rows}',
  bytes: '{count} bytes',
  kilobytes: '{count} KB',

  // The frame of every view, and the menu.
  skip: 'Skip to the content',
  jump: 'Jump to',
  jumpHelp: 'A list, a page or a row…',
  otherRecords: 'Others',
  findRecord: 'Find a record',
  noRecords: 'There is no record that you may see.',
  notFound: 'Not found',
  nothingHere: 'There is nothing at this address, or you may not see it.',

  // Signing in and out.
  signIn: 'Sign in',
  signOut: 'Sign out',
  signInAgain: 'Sign in again',
  sessionEnded: 'Your session has ended. What you typed is still here.',
  signedOut: 'You have signed out.',
  mayNotUse: 'You are signed in, but you may not use this page. Sign in as another user.',
  providerCancelled: 'The sign-in with the provider was cancelled.',
  usePasskey: 'Use a passkey',
  continueWith: 'Continue with {name}',

  // Errors of requests.
  notSignedIn: 'You are not signed in.',
  forbidden: 'You may not do that.',
  missing: 'This does not exist, or you may not see it.',
  tooLarge: 'This is too large.',
  tooMany: 'Too many requests. Wait a little and try again.',
  busy: 'The server is busy. Try again soon.',
  componentFailed: '{path} failed: {error}',
  status: 'The server responded with {status}. Nothing was changed.',
  unreachable: 'The server cannot be reached. Nothing is lost: try again.',

  // Lists.
  searchIn: 'Search {many|lower}',
  loadingRows: 'Loading {many|lower}…',
  noMatch: 'No {one|lower} matches.',
  noRows: 'There is no {one|lower} yet.',
  showAll: 'Show all',
  newRow: 'New {one|lower}',
  selectAll: 'Select all',
  selectRow: 'Select {title}',
  selectMatching: 'Select all {count} that match',
  selectAllMatching: 'Select all that match',
  previousPage: 'Previous page',
  nextPage: 'Next page',
  page: 'Page',
  ofPages: 'of {count}',
  rowsPerPage: 'Rows per page',

  savedViews: 'Saved views',
  saveView: 'Save view',
  renameView: 'Rename view',
  deleteView: 'Delete view',
  viewSaved: 'The view “{name}” was saved.',
  viewDeleted: 'The view “{name}” was deleted.',
  viewDeleteHelp: 'This deletes the saved view, and no rows.',

  // Filters.
  quickFilters: 'Quick filters',
  today: 'Today',
  lastWeek: 'Last 7 days',
  thisMonth: 'This month',
  empty: 'Empty',
  notEmpty: 'Not empty',
  filterInUse: 'Filter in use',
  condition: 'Condition',
  any: 'Any',
  is: 'is',
  has: 'has',
  isFromTo: 'is from … to …',
  isNot: 'is not',
  isOneOf: 'is one of',
  isEmpty: 'is empty',
  isNotEmpty: 'is not empty',
  fieldFrom: '{label} from',
  fieldTo: '{label} to',
  fieldIsNot: '{label} is not',
  fieldIsOneOf: '{label} is one of',
  describeSearch: 'Search: {value}',
  describeIs: '{label}: {value}',
  describeFrom: '{label} from {value}',
  describeTo: '{label} to {value}',
  describeHas: '{label} has {value}',
  describeIsNot: '{label} is not {value}',
  describeIsOneOf: '{label} is one of {value}',
  describeIsEmpty: '{label} is empty',
  describeIsNotEmpty: '{label} is not empty',
  remove: 'Remove',
  removeName: 'Remove {name}',

  // Selected rows.
  selectedRows: 'Selected rows',
  selected: '{rows} selected',
  selecting: 'Selecting… {rows}',
  selectNone: 'Select none',
  editSelected: 'Edit selected',
  deleteSelected: 'Delete selected',
  editMany: 'Edit {rows}',
  editManyHelp: 'Fill in the fields to change. The other fields keep their values.',
  fillOne: 'Fill in at least one field.',
  unchanged: 'Unchanged',
  makeEmpty: 'Make empty',
  deleteMany: 'Delete {rows}?',
  cannotUndo: 'This cannot be undone.',
  savedMany: '{rows} saved.',
  deletedMany: '{rows} deleted.',
  confirmAction: '{label}: {rows}?',
  runsFor: 'Runs for {rows}.',
  actionDone: '{label}: done for {rows}.',
  inBatches:
    'More than {most} rows change in batches of {size}. You see what changes before anything is written.',
  previewing: 'Previewing',
  verbRows: '{verb} {rows}',
  nothingWritten: 'Nothing is written yet.',
  starting: '{verb}: {rows}…',
  progress: '{verb}: {done} of {all}, {percent} %',
  cancelling: 'Cancelling…',
  cancelled: 'Cancelled.',
  othersUnchanged: '{problem} The other rows are unchanged.',
  differentValues: '{rows}: {label} different values',
  changedValues: '{rows}: {label} {from} → {to}',
  rowsDeleted: '{rows}: deleted',
  noFieldChanges: '{rows}: no field changes',

  // Forms.
  saveAndNew: 'Save and new',
  duplicate: 'Duplicate',
  line: '{label} (line {number})',
  onePerLine: 'One per line.',
  stored: 'Stored: {size}',
  removeFile: 'Remove the file',
  pickerHint: 'Find {one|lower}…',
  nothingFound: 'Nothing found',
  open: 'Open {title}',
  chosen: '{label} chosen',
  addRow: 'Add {one|lower}',
  removeRow: 'Remove {name|lower}',
  leaveQuestion: 'Leave without saving?',
  notSaved: 'What you changed in this form is not saved yet.',
  leave: 'Leave',

  // Rules. Each follows the name of a field.
  required: 'is required',
  notNull: 'must not be null',
  mustBe: 'must be {kind}',
  atLeast: 'must be at least {limit}',
  atMost: 'must be at most {limit}',
  leastCharacters: {
    one: 'must have at least {count} character',
    other: 'must have at least {count} characters',
  },
  mostCharacters: {
    one: 'must have at most {count} character',
    other: 'must have at most {count} characters',
  },
  leastBytes: {
    one: 'must have at least {count} byte',
    other: 'must have at least {count} bytes',
  },
  mostBytes: { one: 'must have at most {count} byte', other: 'must have at most {count} bytes' },
  mustMatch: 'must match {pattern}',
  mustBeOneOf: 'must be one of {values}',

  // A row.
  allRows: 'All {many|lower}',
  noSuchRow: 'There is no such {one|lower}, or you may not see it.',
  rowCreated: '{one} “{title}” was created.',
  rowSaved: '{one} “{title}” was saved.',
  rowDeleted: '{one} “{title}” was deleted.',
  nothingChanged: 'Nothing was changed.',
  keepsChanging: 'Other users keep changing this row. Try again.',
  deletedMeanwhile: 'This {one|lower} was deleted meanwhile. Nothing was saved.',
  deleteOne: 'This deletes 1 {one|lower}. It cannot be undone.',
  deleteQuestion: 'Delete “{title}”?',
  deletedByOther: '{one} “{title}” was deleted meanwhile by another user.',
  deleteAnyway: 'Another user changed it meanwhile. Delete it anyway?',
  noRelated: 'No {many|lower}.',
  addRelated: 'Add {one|lower} for this {parent|lower}',
  allRelated: 'All {count} {many|lower}',

  // The bin.
  bin: 'Bin',
  binOf: 'Bin of {many|lower}',
  binEmpty: 'The bin is empty.',
  deletedAt: 'Deleted at',
  restore: 'Restore',
  restoreRow: 'Restore {title}',
  restoreSelected: 'Restore selected',
  restored: '{name} restored.',
  goToBin: 'They can be restored from the bin.',
  deleteOneToBin: 'This deletes 1 {one|lower}. It can be restored from the bin.',

  // A conflict.
  conflict: 'Conflict: “{title}” was changed meanwhile',
  conflictHelp: {
    one: 'Another user changed the same field of this {one|lower}. Choose your value (mine) or theirs. The previous value is shown below (was).',
    other:
      'Another user changed the same fields of this {one|lower}. For each, choose your value (mine) or theirs. The previous value is shown below (was).',
  },
  mine: 'Mine',
  theirs: 'Theirs',
  was: 'Was',
  backToForm: 'Back to the form',

  // The history.
  historyOf: 'History of {many|lower}',
  onlyDeleted: 'Only what was deleted',
  created: 'Created',
  changed: 'Changed',
  deleted: 'Deleted',
  restoredKind: 'Restored',
  action: 'Action',
  changes: 'Changes',
  earlier: 'Earlier',
  when: 'When',
  who: 'Who',
  field: 'Field',
  from: 'From',
  to: 'To',
  noChanges: 'Nothing was changed yet.',

  // Figures.
  figuresOf: 'Figures of {many|lower}',
  figure: 'Figure',
  groupedBy: 'By',
  byDay: '{label} by day',
  byWeek: '{label} by week',
  byMonth: '{label} by month',
  byQuarter: '{label} by quarter',
  byYear: '{label} by year',
  numberOfRows: 'Number of rows',
  sumOf: 'Sum of {label|lower}',
  averageOf: 'Average of {label|lower}',
  least: 'Least {label|lower}',
  greatest: 'Greatest {label|lower}',
  figureBy: '{figure}, by {group|lower}',
  all: 'All',
  moreThan: 'more than {count}',
  latestOf: 'The {count} latest of {all}.',
  largestOf: 'The {count} largest of {all}.',
  nothingToCount: 'There are no rows to count.',
  numbers: 'The numbers',
  name: 'Name',

  // CSV files.
  importRecords: 'Import {many|lower}',
  csvFile: 'CSV file',
  importHelp:
    'The first line names the columns: {columns}. Rows that have their {key} are changed, others are new.',
  selectFile: 'Select a CSV file first.',
  checking: 'Checking',
  importing: 'Importing',
  started: '{verb}…',
  fileProgress: '{verb}: {count} rows, {percent} %',
  fileRows: { one: '{count} row', other: '{count} rows' },
  fileErrors: { one: '{count} error', other: '{count} errors' },
  checkFailed: '{rows}, {errors}.',
  checkFailedAlert: '{rows}, {errors}. Nothing is written while there are errors.',
  checkPassed: '{rows}, no errors. Import writes them.',
  hooksRunLater: 'Hooks run at the import only. They may change or refuse rows.',
  importTakes: {
    one: 'This takes about {count} second. Other changes wait meanwhile.',
    other: 'This takes about {count} seconds. Other changes wait meanwhile.',
  },
  imported: '{rows} imported.',
  show: 'Show {many|lower}',
  importRefused: 'The file has errors. Nothing was written.',
  importCancelled: 'Cancelled. Nothing was written.',
  row: 'Row',
  column: 'Column',
  error: 'Error',
  errors: 'Errors',
} as const

export type TextName = keyof typeof english

/** A text, or its forms by the plurals of the language. */
export type AdminText =
  string | ({ readonly other: string } & { readonly [Plural in Intl.LDMLPluralRule]?: string })

/** All texts of a language. */
export type AdminTexts = { readonly [Name in TextName]: AdminText } & {
  /**
   * What a value must be, by the control of its field: `{ integer: 'eine ganze Zahl' }`. Without it, the page uses the words of the
   * field's kind, which are English.
   */
  readonly kinds?: Readonly<Record<string, string>>
  /**
   * What is wrong with a field, by the code of the server's error: `{ unique: 'ist bereits vergeben' }`. Without it, the page shows
   * the server's message. Messages that the application has written stay.
   */
  readonly codes?: Readonly<Record<string, string>>
  /**
   * What is wrong with a row or a column of a CSV file, by the code of the server's error: `{ emptyFile: 'Die Datei ist leer.' }`.
   * `{name}` is the column, `{suggestion}` the one that was perhaps meant, and `{one}` the name of the record. Without it, the page
   * shows the server's message.
   */
  readonly rowErrors?: Readonly<Record<string, string>>
}

type NamesIn<Text> = Text extends `${string}{${infer Inner}}${infer Rest}`
  ? (Inner extends `${infer Name}|${string}` ? Name : Inner) | NamesIn<Rest>
  : never

/** The values that a text needs: `one` for `New {one|lower}`. */
export type PlaceholdersOf<Name extends TextName> = NamesIn<
  (typeof english)[Name] extends { readonly other: infer Other } ? Other : (typeof english)[Name]
>
