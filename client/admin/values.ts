/** Values of fields as texts of boxes, and back. */
import type { FieldInfo } from './schema.js'
import { asText } from './words.js'

/** What is typed for a value and is none. */
export class Unreadable {}

/** @returns undefined for what is left out */
export function readText(field: FieldInfo, raw: string, isNew: boolean): unknown {
  const { kind, list, nullable, fields } = field
  if (list === true && fields === undefined && kind !== 'json')
    return raw
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => readOne(kind, line))
  if (raw === '') {
    if (nullable === true) return isNew && field.default !== undefined ? undefined : null
    const isText = kind === 'string' || kind === 'text'
    if (isText && field.oneOf === undefined && !isNew) return ''
    if (isText && field.required === true && field.oneOf === undefined) return ''
    return isNew ? undefined : null
  }
  return readOne(fields === undefined ? kind : 'json', raw)
}

function readOne(kind: string, raw: string): unknown {
  if (kind === 'boolean') return raw === 'true'
  if (kind === 'integer' || kind === 'numeric' || kind === 'float') {
    const value = Number(raw.replace(',', '.'))
    return raw.trim() === '' || Number.isNaN(value) ? raw : value
  }
  if (kind === 'datetime') {
    const date = new Date(raw)
    return Number.isNaN(date.getTime()) ? raw : date.toISOString()
  }
  if (kind === 'json')
    try {
      return JSON.parse(raw) as unknown
    } catch {
      return new Unreadable()
    }
  return raw
}

export function writeText(field: FieldInfo, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (field.kind === 'json' || field.fields !== undefined) return JSON.stringify(value, null, 2)
  if (Array.isArray(value)) return value.map(String).join('\n')
  if (field.kind === 'datetime') return toLocal(asText(value))
  return asText(value)
}

/** As the browser's control for moments has it. */
export function toLocal(value: string): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
