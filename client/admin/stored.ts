/** A stored row: read as its form shows it, written and deleted unless somebody else has changed it meanwhile. */
import { api, ask, rowsOf, statusOf } from './requests.js'
import { byText } from './field-controls.js'
import { fieldOf, recordNamed, type RecordInfo, type Row } from './schema.js'
import { keep } from './titles.js'

export interface Stored {
  row: Row
  /** The version's tag, where the record has versions. */
  version: number | undefined
}

/** Reads a row with what its form shows: ties as keys, nested rows as a list. */
export async function readStored(record: RecordInfo, key: string): Promise<Stored> {
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

/** @throws what `isStale` where a written field is not what it was */
export async function writeStored(
  record: RecordInfo,
  key: string,
  { row, version }: Stored,
  values: Row,
): Promise<void> {
  if (version !== undefined) {
    const headers = { 'If-Match': `"${version}"` }
    await ask('PATCH', rowsOf(record, key), { body: values, headers })
    return
  }
  const names = Object.keys(values).filter(
    (name) =>
      fieldOf(record, name) !== undefined || record.relations?.some(({ ids }) => ids === name),
  )
  await ask('POST', api(`save/${record.path}/${encodeURIComponent(key)}`), {
    body: { was: pick(row, names), values },
  })
}

/** @throws what `isStale` where the row is not what it was */
export async function deleteStored(
  record: RecordInfo,
  key: string,
  { row, version }: Stored,
): Promise<void> {
  if (version !== undefined) {
    await ask('DELETE', rowsOf(record, key), { headers: { 'If-Match': `"${version}"` } })
    return
  }
  const names = record.fields.map(({ name }) => name)
  await ask('POST', api(`remove/${record.path}/${encodeURIComponent(key)}`), {
    body: { was: pick(row, names) },
  })
}

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.map((name) => [name, row[name] ?? null]))

/** Of a changed row: 409 `CHANGED`, 412, and 409 `CONFLICT` without a fault of a field. */
export const isStale = (error: unknown): boolean =>
  statusOf(error) === 412 ||
  (statusOf(error) === 409 && (error as { data?: { code?: unknown } }).data?.code === 'CHANGED')

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)
