/**
 * The compiled check in one process, compared with class-validator and Ajv, for the DTO of the POST row: five fields, one of
 * them a list of three nested objects. Run by hand: `npm run build` above, then `node check.mjs`.
 */
import 'reflect-metadata'
import Ajv from 'ajv'
import { plainToInstance, Type } from 'class-transformer'
import * as validator from 'class-validator'

const { Field } = await import('../dist/src/fields/field.js')
const { readShape } = await import('../dist/src/fields/shape.js')
const { compileInput } = await import('../dist/src/fields/compile-input.js')

class Line {}
class Order {}
class ValidatedLine {}
class ValidatedOrder {}

/** The decorators of a class, without a compiler: property → decorators. */
function describe(type, properties) {
  for (const [name, decorators] of Object.entries(properties)) {
    for (const decorate of [decorators].flat()) decorate(type.prototype, name)
  }
}

describe(Line, {
  sku: Field('string', { maxLength: 20 }),
  qty: Field('integer', { min: 1, max: 1000 }),
})
describe(Order, {
  customer: Field('string', { minLength: 1, maxLength: 80 }),
  priority: Field('integer', { min: 0, max: 9 }),
  express: Field('boolean'),
  note: Field('string', { maxLength: 200 }),
  lines: Field(() => Line, { list: true, maxItems: 100 }),
})
describe(ValidatedLine, {
  sku: [validator.IsString(), validator.MaxLength(20)],
  qty: [validator.IsInt(), validator.Min(1), validator.Max(1000)],
})
describe(ValidatedOrder, {
  customer: [validator.IsString(), validator.MinLength(1), validator.MaxLength(80)],
  priority: [validator.IsInt(), validator.Min(0), validator.Max(9)],
  express: validator.IsBoolean(),
  note: [validator.IsString(), validator.MaxLength(200)],
  lines: [
    Type(() => ValidatedLine),
    validator.IsArray(),
    validator.ArrayMaxSize(100),
    validator.ValidateNested({ each: true }),
  ],
})
Reflect.defineMetadata('design:type', ValidatedLine, ValidatedOrder.prototype, 'lines')

const line = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'qty'],
  properties: {
    sku: { type: 'string', maxLength: 20 },
    qty: { type: 'integer', minimum: 1, maximum: 1000 },
  },
}
const order = {
  type: 'object',
  additionalProperties: false,
  required: ['customer', 'priority', 'express', 'note', 'lines'],
  properties: {
    customer: { type: 'string', minLength: 1, maxLength: 80 },
    priority: { type: 'integer', minimum: 0, maximum: 9 },
    express: { type: 'boolean' },
    note: { type: 'string', maxLength: 200 },
    lines: { type: 'array', maxItems: 100, items: line },
  },
}

const input = JSON.stringify({
  customer: 'Ada Lovelace',
  priority: 3,
  express: true,
  note: 'ring twice',
  lines: [
    { sku: 'lamp-12', qty: 1 },
    { sku: 'shade-3', qty: 2 },
    { sku: 'bulb-60w', qty: 6 },
  ],
})
// Every contender gets objects as a parser makes them, never the same one twice in a row.
const inputs = Array.from({ length: 64 }, () => JSON.parse(input))

const compiled = compileInput(readShape(Order))
const borrowed = compileInput(readShape(ValidatedOrder))
const ajv = new Ajv({ allErrors: true }).compile(order)
const options = { whitelist: true, forbidNonWhitelisted: true }

const contenders = {
  'compiled check (@Field)': (value) => compiled(value),
  'compiled check (class-validator)': (value) => borrowed(value),
  'Ajv, compiled': (value) => {
    if (!ajv(value)) throw new Error('refused')
    return value
  },
  'class-validator validateSync': (value) => {
    const instance = plainToInstance(ValidatedOrder, value)
    if (validator.validateSync(instance, options).length > 0) throw new Error('refused')
    return instance
  },
  'class-validator validate': async (value) => {
    const instance = plainToInstance(ValidatedOrder, value)
    if ((await validator.validate(instance, options)).length > 0) throw new Error('refused')
    return instance
  },
}

/** Calls a second for about `milliseconds`, in batches. */
async function measure(run, milliseconds) {
  const start = process.hrtime.bigint()
  const end = start + BigInt(milliseconds) * 1_000_000n
  let calls = 0
  let now = start
  let sink
  for (; now < end; now = process.hrtime.bigint()) {
    for (let index = 0; index < 256; index++) {
      const result = run(inputs[index & 63])
      sink = result instanceof Promise ? await result : result
    }
    calls += 256
  }
  if (sink === undefined) throw new Error('nothing was built')
  return calls / (Number(now - start) / 1e9)
}

const rounds = 5
const figures = new Map(Object.keys(contenders).map((name) => [name, []]))
for (const run of Object.values(contenders)) await measure(run, 300)
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of Object.entries(contenders))
    figures.get(name).push(await measure(run, 300))
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
const medians = new Map([...figures].map(([name, values]) => [name, median(values)]))
for (const [name, figure] of medians) {
  const ratio = (other) => (figure / medians.get(other)).toFixed(2).padStart(8)
  const perSecond = Math.round(figure).toLocaleString('en').padStart(12)
  console.log(
    `${name.padEnd(34)} ${perSecond}/s  ${ratio('Ajv, compiled')} × Ajv  ${ratio('class-validator validate')} × class-validator`,
  )
}
