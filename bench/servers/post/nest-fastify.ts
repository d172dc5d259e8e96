/** Nest 12 on Fastify with class-validator and class-transformer, unknown keys refused. */
import 'reflect-metadata'
import { Body, Controller, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common'
import { Type } from 'class-transformer'
import {
  IsArray,
  IsBoolean,
  IsInt,
  IsNumber,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator'
import { announce } from '../contract.mjs'
import { startOnFastify } from '../nest-on-fastify.mjs'

class Line {
  @IsString() @Length(1, 40) sku!: string
  @IsInt() @Min(1) @Max(1000) quantity!: number
  @IsNumber() @Min(0) price!: number
}

class Order {
  @IsString() @Length(1, 80) customer!: string
  @IsString() @Matches(/^[A-Z]{2}-[0-9]{4,8}$/) reference!: string
  @IsNumber() @Min(0) total!: number
  @IsBoolean() express!: boolean
  @IsArray() @ValidateNested({ each: true }) @Type(() => Line) lines!: Line[]
}

@Controller('orders')
class OrderController {
  @Post()
  @HttpCode(200)
  create(@Body() body: Order) {
    return body
  }
}

@Module({ controllers: [OrderController] })
class AppModule {}

const refusal = { transform: true, whitelist: true, forbidNonWhitelisted: true }
announce(await startOnFastify(AppModule, (app) => app.useGlobalPipes(new ValidationPipe(refusal))))
