import { describe, expect, it } from '@jest/globals'
import { declareOptions, option, type OptionsOf } from '../../src/index.js'

const zoneOptions = declareOptions({ name: option.text(), strict: option.flag().default(true) })

const auditOptions = declareOptions({
  keep: option.seconds().default('90d'),
  max: option.integer(1, 100),
  level: option.oneOf('all', 'writes', false).shown().default('all'),
  fields: option.list(option.text(), "Write names: ['price']."),
  table: option.text("Write the name of a table: 'audit'.", /^[a-z]+$/).required('audit'),
  zone: option.object(zoneOptions, "Write zone: { name: 'UTC' }."),
  log: option.flag().or(zoneOptions),
})

interface AuditOptions extends OptionsOf<typeof auditOptions> {}

const read = (options: AuditOptions) => auditOptions.read(options)
const find = (options: unknown, where?: string) => auditOptions.findProblems(options, where)

describe('declareOptions', () => {
  it('reads options with their defaults', () => {
    expect(read({ table: 'entries' })).toEqual({
      keep: 90 * 86_400,
      max: undefined,
      level: 'all',
      fields: undefined,
      table: 'entries',
      zone: undefined,
      log: undefined,
    })
  })

  it('converts values, and reads options of options', () => {
    const values = read({ table: 'a', keep: '2m', zone: { name: 'UTC' }, log: { strict: false } })
    expect(values.keep).toBe(120)
    expect(values.zone).toEqual({ name: 'UTC', strict: true })
    expect(values.log).toEqual({ name: undefined, strict: false })
    expect(read({ table: 'a', log: true }).log).toBe(true)
  })

  it('returns frozen values, and leaves the options of the caller unchanged', () => {
    const options = { table: 'a' }
    expect(Object.isFrozen(read(options))).toBe(true)
    expect(options).toEqual({ table: 'a' })
  })

  it('returns the default or the example in place of invalid values', () => {
    const options: unknown = { table: 7, keep: 'long', max: 0 }
    expect(auditOptions.read(options)).toMatchObject({ table: 'audit', keep: 7_776_000 })
    expect(auditOptions.read(undefined).table).toBe('audit')
    expect(auditOptions.read(null).table).toBe('audit')
  })

  it('accepts valid options', () => {
    const options = { table: 'a', keep: 60, max: 100, level: false, fields: [], zone: {}, log: {} }
    expect(find(options, 'audit')).toEqual([])
  })

  it('refuses unknown names', () => {
    const remedy = 'Did you mean "keep"? Options: keep, max, level, fields, table, zone, log.'
    expect(find({ table: 'a', kep: 1 }, 'audit')).toEqual([
      { code: 'UNKNOWN_OPTION', message: 'audit: unknown option "kep".', remedy },
    ])
    expect(find('90d', 'audit')[0]?.message).toBe('audit: the options are not an object.')
  })

  it.each([
    [{ keep: 'long' }, 'audit: keep cannot be used.', "Write '10s' or seconds."],
    [{ keep: 0 }, 'audit: keep cannot be 0.', "Write '10s' or seconds."],
    [{ max: 101 }, 'audit: max cannot be 101.', 'Give an integer from 1 to 100.'],
    [{ level: 'reads' }, 'audit: level is "reads".', "Write 'all', 'writes' or false."],
    [{ fields: [''] }, 'audit: fields cannot be used.', "Write names: ['price']."],
    [{ table: undefined }, 'audit: table cannot be used.', "Write the name of a table: 'audit'."],
    [{ table: 'A' }, 'audit: table cannot be used.', "Write the name of a table: 'audit'."],
    [{ zone: 'UTC' }, 'audit: zone cannot be used.', "Write zone: { name: 'UTC' }."],
    [{ log: 1 }, 'audit: log cannot be 1.', 'Write true or false.'],
    [{ log: { strict: 1 } }, 'audit log: strict cannot be 1.', 'Write true or false.'],
  ])('refuses %j', (options, message, remedy) => {
    expect(find({ table: 'a', ...options }, 'audit')).toEqual([
      { code: 'INVALID_OPTION', message, remedy },
    ])
  })

  it('names the options of options by their path', () => {
    const nested = declareOptions({ audit: option.object(auditOptions, '') })
    const problems = nested.findProblems({ audit: { table: 'a', zone: { nam: 'a' } } }, 'desk')
    expect(problems[0]?.message).toBe('desk audit.zone: unknown option "nam".')
  })

  it('leaves out the place for decorators, whose problems name it', () => {
    expect(find({ table: 'a', level: 1, kep: 1 }).map(({ message }) => message)).toEqual([
      'unknown option "kep"',
      'level is 1',
    ])
  })
})
