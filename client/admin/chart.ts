/** The view "Figures": a bar chart of counts and sums, and a table with the same numbers. */
import { request, rowsOf } from './requests.js'
import { choicesOf } from './control-types.js'
import { el, listen, newId, replace, svg } from './element.js'
import { showError } from './notices.js'
import { describeConditions } from './filter.js'
import { replacePath, pathTo } from './navigation.js'
import {
  displayLabel,
  fieldOf,
  labelOf,
  referredKey,
  targetOf,
  type FieldInfo,
  type KindInfo,
  type PageRow,
  type RecordInfo,
} from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'
import { openView } from './view.js'
import { toFieldText } from './field-values.js'
import { toText, withCount } from './format.js'
import { toCount, translate } from './translate.js'

interface ChartBar {
  readonly name: string
  readonly value: number
  readonly text: string
}

/** The periods of times, with the names of their texts. */
const times = {
  day: 'byDay',
  week: 'byWeek',
  month: 'byMonth',
  quarter: 'byQuarter',
  year: 'byYear',
} as const
/** The functions of numbers, with the names of their texts. */
const functions = { sum: 'sumOf', avg: 'averageOf', min: 'least', max: 'greatest' } as const

/** What the uses that the schema names mean. */
const chartUses: Readonly<
  Record<KindInfo['chart'], { isGroup?: true; isPeriod?: true; isNumber?: true }>
> = {
  groups: { isGroup: true },
  numbers: { isGroup: true, isNumber: true },
  periods: { isPeriod: true },
  none: {},
}

/** The fields whose values are groups. */
const plainGroupsOf = ({ fields, key, version }: RecordInfo): FieldInfo[] =>
  fields.filter(
    ({ kind, list, name }) =>
      list !== true && chartUses[kind.chart].isGroup === true && name !== key && name !== version,
  )

/** Fields of the rows that a row belongs to: `org.city`. Their titles are the groups of the field with the key. */
function relatedGroupsOf(record: RecordInfo): { value: string; label: string }[] {
  return record.fields.flatMap((field) => {
    const target = targetOf(record, field)
    if (target === undefined) return []
    const label = displayLabel(record, field)
    return plainGroupsOf(target)
      .filter(({ name, kind }) => name !== target.title && chartUses[kind.chart].isNumber !== true)
      .map((inner) => ({
        value: `${field.by ?? ''}.${inner.name}`,
        label: `${label}: ${displayLabel(target, inner)}`,
      }))
  })
}

/** The fields that rows can be grouped by, the most useful first. */
function groupsOf(record: RecordInfo): { value: string; label: string }[] {
  const { fields } = record
  const plain = plainGroupsOf(record)
  const rank = (field: FieldInfo): number =>
    choicesOf(field) !== undefined
      ? 0
      : field.by !== undefined
        ? 1
        : field.name === record.title
          ? 4
          : chartUses[field.kind.chart].isNumber === true
            ? 3
            : 2
  const groups = plain
    .sort((one, other) => rank(one) - rank(other))
    .map((field) => ({ value: field.name, label: displayLabel(record, field) }))
  const inTime = fields.flatMap((field) =>
    chartUses[field.kind.chart].isPeriod === true
      ? Object.entries(times).map(([time, name]) => ({
          value: `${field.name}:${time}`,
          label: translate(name, { label: labelOf(field) }),
        }))
      : [],
  )
  return [...groups, ...relatedGroupsOf(record), ...inTime]
}

function measuresOf(record: RecordInfo): { value: string; label: string }[] {
  const fields = record.fields.filter(
    ({ kind, list, by, name }) =>
      chartUses[kind.chart].isNumber === true &&
      list !== true &&
      by === undefined &&
      name !== record.key &&
      name !== record.version,
  )
  return [
    { value: 'count', label: translate('numberOfRows') },
    ...fields.flatMap((field) =>
      Object.entries(functions).map(([kind, name]) => ({
        value: `${kind}:${field.name}`,
        label: translate(name, { label: labelOf(field) }),
      })),
    ),
  ]
}

export async function showChart(record: RecordInfo, query: URLSearchParams): Promise<void> {
  const view = openView(record, translate('figuresOf', { many: record.label }))
  const groups = groupsOf(record)
  const measures = measuresOf(record)
  const select = (label: string, options: { value: string; label: string }[], name: string) => {
    const box = el(
      'select',
      { id: newId() },
      ...options.map((option) => el('option', { value: option.value }, option.label)),
    )
    const requestedValue = query.get(name)
    if (options.some(({ value }) => value === requestedValue)) box.value = requestedValue ?? ''
    return { box, node: el('div', { class: 'field' }, el('label', { for: box.id }, label), box) }
  }
  const measure = select(translate('figure'), measures, 'figure')
  const group = select(translate('groupedBy'), groups, 'groupBy')
  // A name may occur several times: `status.in=open&status.in=closed`.
  const filter = new URLSearchParams(query)
  for (const name of ['figure', 'groupBy']) filter.delete(name)
  const filtered = String(filter) === '' ? '' : `?${String(filter)}`
  const chartArea = el('div', { class: 'card' })
  let drawCount = 0
  const draw = async (): Promise<void> => {
    const drawNumber = ++drawCount
    const [kind = 'count', field] = measure.box.value.split(':')
    const by = group.box.value
    const [byField = ''] = by.split(':')
    const isTime = by.includes(':')
    const order = isTime ? `-${byField}` : `-${resultName(kind, field)}`
    const params = {
      ...(field === undefined ? { count: true } : { [kind]: field }),
      ...(by === '' ? {} : { groupBy: by, limit: maxGroups, orderBy: order }),
      ...(isTime ? { zone: Intl.DateTimeFormat().resolvedOptions().timeZone } : {}),
    }
    const path = `${rowsOf(record)}/aggregate${filtered}`
    chartArea.setAttribute('aria-busy', 'true')
    const [{ data }, total] = await Promise.all([
      request<PageRow[]>('GET', path, { params, signal: view.signal }),
      request<PageRow[]>('GET', path, { params: { count: true }, signal: view.signal }),
    ])
    const all = await toBars(record, data, byField, resultName(kind, field))
    if (drawNumber !== drawCount || !view.isOpen()) return
    chartArea.removeAttribute('aria-busy')
    replace(
      view.aside,
      el('p', { class: 'total' }, withCount(Number(total.data[0]?.count ?? 0), record)),
    )
    const [figure, groupName] = [measure, group].map(
      ({ box }) => box.selectedOptions[0]?.textContent ?? '',
    ) as [string, string]
    const label = by === '' ? figure : translate('figureBy', { figure, group: groupName })
    // The latest times were requested. They are shown from left to right, the earliest first.
    if (isTime) all.reverse()
    const bars = isTime ? all.slice(-maxBars) : all.slice(0, maxBars)
    replace(chartArea, ...drawBars(label, bars, all, isTime))
  }
  for (const { box } of [measure, group])
    listen(box, 'change', () => {
      const choice = new URLSearchParams(filter)
      choice.set('figure', measure.box.value)
      choice.set('groupBy', group.box.value)
      replacePath(`${pathTo(record.path, 'figures')}?${String(choice)}`)
      draw().catch(showError)
    })
  const search = filter.get('search')
  const conditions = [
    ...(search === null ? [] : [translate('describeSearch', { value: search })]),
    ...(await describeConditions(record, filter)).map(({ text }) => text),
  ]
  if (!view.isOpen()) return
  view.show(
    el('div', { class: 'bar' }, measure.node, groups.length > 0 && group.node),
    conditions.length > 0 &&
      el(
        'ul',
        { class: 'chips plain', 'aria-label': translate('filterInUse') },
        ...conditions.map((text) => el('li', {}, text)),
      ),
    chartArea,
  )
  await draw()
}

const resultName = (kind: string, field: string | undefined): string =>
  field === undefined ? 'count' : `${kind}${field.charAt(0).toUpperCase()}${field.slice(1)}`

async function toBars(
  record: RecordInfo,
  rows: readonly PageRow[],
  by: string,
  resultField: string,
): Promise<ChartBar[]> {
  const target = groupTargetOf(record, by)
  const field = fieldOf(record, by)
  if (target !== undefined)
    await loadTitles(
      target,
      rows.map((row) => referredKey(target, row[by])),
    )
  return rows.map((row) => {
    const value = row[resultField]
    const key = row[by]
    const name =
      by === ''
        ? translate('all')
        : target !== undefined && key !== null
          ? cachedTitle(target, referredKey(target, key))
          : field?.labels === undefined
            ? toText(key)
            : toFieldText(field, key)
    const isNumber = typeof value === 'number'
    return { name, value: Number(value ?? 0), text: isNumber ? toCount(value) : toText(value) }
  })
}

/** The record whose keys the groups are; undefined for other values. */
function groupTargetOf(record: RecordInfo, by: string): RecordInfo | undefined {
  const [first = '', inner] = by.split('.')
  const isRelated = inner !== undefined
  const field = record.fields.find((one) => (isRelated ? one.by : one.name) === first)
  const target = targetOf(record, field)
  if (!isRelated || target === undefined) return target
  return targetOf(
    target,
    target.fields.find(({ name }) => name === inner),
  )
}

const rowHeight = 34
/** Bars of a chart. The table below it has all groups. */
const maxBars = 40
/** Groups of one request. */
const maxGroups = 1000

/** Says how many of the groups the chart shows: `The 40 largest of 302.` */
function describeCut(barCount: number, groupCount: number, isTime: boolean): string {
  const all =
    groupCount < maxGroups ? toCount(groupCount) : translate('moreThan', { count: maxGroups - 1 })
  return translate(isTime ? 'latestOf' : 'largestOf', { count: barCount, all })
}

/** @param all all groups, for the table */
function drawBars(
  label: string,
  bars: readonly ChartBar[],
  all: readonly ChartBar[],
  isTime: boolean,
): Element[] {
  if (bars.length === 0) return [el('p', { class: 'quiet-words' }, translate('nothingToCount'))]
  const maxValue = Math.max(...bars.map(({ value }) => value), 0)
  const minValue = Math.min(...bars.map(({ value }) => value), 0)
  const span = maxValue - minValue || 1
  // Use less width on a phone, so that the text keeps its size.
  const isSmall = innerWidth < 600
  const [width, labelWidth] = isSmall ? [340, 100] : [760, 190]
  const barSpace = width - labelWidth - (isSmall ? 60 : 90)
  const zero = labelWidth + (-minValue / span) * barSpace
  const height = bars.length * rowHeight
  const description = bars.map(({ name, text }) => `${name} ${text}`).join(', ')
  const drawing = svg(
    'svg',
    {
      class: 'bars',
      role: 'img',
      'aria-label': `${label}: ${description}`,
      viewBox: `0 0 ${width} ${height}`,
    },
    svg('line', { class: 'axis', x1: zero, x2: zero, y1: 0, y2: height }),
    ...bars.flatMap(({ name, value, text }, index) => {
      const y = index * rowHeight
      const length = (Math.abs(value) / span) * barSpace
      const x = value < 0 ? zero - length : zero
      const maxNameLength = isSmall ? 13 : 26
      const short = name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name
      return [
        svg('text', { class: 'name', x: 0, y: y + 22 }, short),
        svg('rect', {
          class: 'bar-of',
          x,
          y: y + 7,
          width: Math.max(length, 1),
          height: 20,
          rx: 3,
        }),
        svg('text', { class: 'value', x: (value < 0 ? zero : x + length) + 8, y: y + 22 }, text),
      ]
    }),
  )
  const heads = [translate('name'), label].map((name) => el('th', { scope: 'col' }, name))
  return [
    el('h2', {}, label),
    ...(all.length > bars.length
      ? [el('p', { class: 'quiet-words' }, describeCut(bars.length, all.length, isTime))]
      : []),
    drawing,
    el(
      'details',
      {},
      el('summary', {}, translate('numbers')),
      el(
        'table',
        { class: 'numbers' },
        el('thead', {}, el('tr', {}, ...heads)),
        el(
          'tbody',
          {},
          ...all.map(({ name, text }) =>
            el('tr', {}, el('th', { scope: 'row' }, name), el('td', { class: 'number' }, text)),
          ),
        ),
      ),
    ),
  ]
}
