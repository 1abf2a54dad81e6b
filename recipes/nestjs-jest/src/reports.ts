import { Injectable, type OnModuleDestroy } from '@nestjs/common'
import { Kalends, task } from 'kalends'

export const report = task<{ readonly name: string }>('report')

@Injectable()
export class Reports implements OnModuleDestroy {
  readonly written: string[] = []

  register(kalends: Kalends): void {
    kalends.handle(report, ({ args }) => {
      this.written.push(args.name)
    })
    kalends.declare('reports', [{ task: report, timer: 'daily', args: { name: 'sales' } }])
  }

  onModuleDestroy(): void {
    this.written.length = 0
  }
}
