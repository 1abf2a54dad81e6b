// Generated from the OpenAPI document by openapi.test.ts.
export interface paths {
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Schedules, page by page
         * @description In the order of their ids. Totals are counted up to 10,000; text is looked for among the first 100,000 that the other filters leave.
         */
        get: operations["listSchedules"];
        put?: never;
        /**
         * Make a schedule
         * @description With an id of your choosing it can be sent again: it is made once.
         */
        post: operations["createSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/batch-delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete many schedules
         * @description Ids that are not there are left out. It ends at the first that may not be deleted.
         */
        post: operations["deleteSchedules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A schedule */
        get: operations["getSchedule"];
        /**
         * Make a schedule, or change it to this
         * @description What is left out has its default. `enabled` and `firstRun` count only for a new one: what was paused stays paused.
         */
        put: operations["putSchedule"];
        post?: never;
        /**
         * Delete a schedule
         * @description Jobs that were submitted already stay.
         */
        delete: operations["deleteSchedule"];
        options?: never;
        head?: never;
        /**
         * Change what is given
         * @description What is left out stays. A new timer is planned from now.
         */
        patch: operations["changeSchedule"];
        trace?: never;
    };
    "/api/v1/schedules/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit nothing until it is resumed */
        post: operations["pauseSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on, planned from now */
        post: operations["resumeSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revive a schedule that is done or dead, with cleared counters */
        post: operations["resetSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run it now, beside its timer
         * @description Also while it is paused. Refused with the id of the job while one is waiting or running.
         */
        post: operations["runSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Its runs and skips, newest slot first */
        get: operations["scheduleHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/elapses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Its next elapses */
        get: operations["scheduleElapses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why it did or did not run, and when it will next */
        get: operations["explainSchedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Jobs, newest first, page by page
         * @description Totals are counted up to 10,000. What no index serves, such as the text of errors, is looked for among the newest 100,000 that the other filters leave.
         */
        get: operations["listJobs"];
        put?: never;
        /**
         * Submit a job of its own, beside all schedules
         * @description With an id of your choosing it can be sent again: it is submitted once.
         */
        post: operations["submitJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A job */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What its attempts have logged, in order
         * @description To follow it, ask again with `after` the id of the last line.
         */
        get: operations["jobLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a job that waits; ask the worker to stop one that runs */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel many jobs
         * @description By their ids, or all that a filter finds, of the state waiting, blocked or running (default: all of these), up to a thousand at a time. With dryRun it only says how many there are.
         */
        post: operations["cancelJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a failed or cancelled job run again, from its first attempt */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let many jobs run again
         * @description By their ids, or all that a filter finds, of the state failed (default) or cancelled, up to a thousand at a time. With dryRun it only says how many there are.
         */
        post: operations["retryJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/counts/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Schedules by status */
        get: operations["countSchedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/counts/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Jobs by state */
        get: operations["countJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest 10,000 failed jobs by the first line of their error, most frequent first
         * @description At most 100 errors.
         */
        get: operations["listFailures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tasks of schedules and workers */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workers of this database */
        get: operations["listWorkers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is wrong, and what to do about it */
        get: operations["doctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/timers/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a timer means, or what is wrong with it */
        get: operations["checkTimer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Planned and past runs, hour by hour */
        get: operations["getLoad"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upcoming": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What comes between two instants, earliest first */
        get: operations["listUpcoming"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who you are here */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Server-sent events that say what to look at again
         * @description Events of the type `change` with `{"topics": [...]}` out of schedules, jobs and workers, at most two a second, for every change, including changes made in SQL. With `Last-Event-ID` the stream continues where it ended. With a scope there is one every five seconds, whether or not anything changed, so that it does not show what others do.
         */
        get: operations["followChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether this process does its work
         * @description For readiness probes, without a sign-in; who has signed in, without a scope, sees the reasons.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether this process could do its work again by itself
         * @description For liveness probes: a database that is away is no reason to start the process anew, a loop that hangs for good is.
         */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["getDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ScheduleInput: {
            /** @description What runs: the name of a task */
            task: string;
            /** @description Whether it runs, or is paused. Kalends never changes it; default true */
            enabled?: boolean;
            /** @description When it runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless it names a zone. A full date runs once */
            timer: string;
            /** @description What the task gets, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while a job of the schedule has not ended; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue_one" | "replace" | "allow";
            /** @description How many missed slots are made up at most, the newest of them; default 1 */
            catchUp?: number;
            /** @description Shifts all runs by the same part of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: number | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /**
             * @description What happens after a run has failed for good; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a schedule that is done, once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a larger priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /**
             * @description When a new schedule runs first; default `next`
             * @enum {string}
             */
            firstRun?: "next" | "now" | "if-due";
        };
        NewSchedule: {
            /** @description What runs: the name of a task */
            task: string;
            /** @description Whether it runs, or is paused. Kalends never changes it; default true */
            enabled?: boolean;
            /** @description When it runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless it names a zone. A full date runs once */
            timer: string;
            /** @description What the task gets, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while a job of the schedule has not ended; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue_one" | "replace" | "allow";
            /** @description How many missed slots are made up at most, the newest of them; default 1 */
            catchUp?: number;
            /** @description Shifts all runs by the same part of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: number | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /**
             * @description What happens after a run has failed for good; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a schedule that is done, once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a larger priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /**
             * @description When a new schedule runs first; default `next`
             * @enum {string}
             */
            firstRun?: "next" | "now" | "if-due";
            /** @description Of your choosing, 1 to 190 characters */
            id?: string;
        };
        ScheduleChanges: {
            /** @description Whether it runs, or is paused. Kalends never changes it; default true */
            enabled?: boolean;
            /** @description When it runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless it names a zone. A full date runs once */
            timer?: string;
            /** @description What the task gets, as JSON; default `{}` */
            args?: unknown;
            summary?: string | null;
            /**
             * @description What happens to a slot while a job of the schedule has not ended; default `skip`
             * @enum {string}
             */
            overlap?: "skip" | "queue_one" | "replace" | "allow";
            /** @description How many missed slots are made up at most, the newest of them; default 1 */
            catchUp?: number;
            /** @description Shifts all runs by the same part of this time: milliseconds or a time span; default 0 */
            jitter?: number | string;
            starts?: string | null;
            ends?: string | null;
            maxRuns?: number | null;
            timeout?: (number | string) | null;
            retries?: number | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /**
             * @description What happens after a run has failed for good; default `continue`
             * @enum {string}
             */
            onExhausted?: "continue" | "stop";
            /**
             * @description What happens to a schedule that is done, once its jobs are pruned; default `keep`
             * @enum {string}
             */
            afterDone?: "keep" | "delete";
            /** @description Jobs with a larger priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
        };
        RunInput: {
            /** @description For this run alone; needs the permission 'submit' */
            args?: unknown;
        };
        Ids: {
            ids: string[];
        };
        NewJob: {
            id?: string;
            /** @description What runs: the name of a task */
            task: string;
            /** @description What the task gets, as JSON; default `{}` */
            args?: unknown;
            timeout?: (number | string) | null;
            retries?: number | null;
            retryDelay?: (number | string) | null;
            retryBackoff?: ("exponential" | "fixed") | null;
            /** @description Jobs with a larger priority run first; default 0 */
            priority?: number;
            /** @description Groups take turns in the queue; default none */
            group?: string;
            submitter?: string | null;
            subject?: string | null;
            /** Format: date-time */
            runAt?: string;
        };
        JobsAction: {
            ids?: string[];
            filter?: {
                /** @enum {string} */
                state?: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description Of your choosing, 1 to 190 characters */
                schedule?: string;
                /** @description The worker that runs it now */
                worker?: string;
                /** @description The beginning of the id */
                id?: string;
                /** @description Part of the error, in any case */
                error?: string;
                /** @description Part of the stored args, in any case */
                args?: string;
                /** Format: date-time */
                finishedFrom?: string;
                /** Format: date-time */
                finishedTo?: string;
            };
            /** @description Only says how many match */
            dryRun?: boolean;
            /** @description Most jobs of a filter; default 1000 */
            limit?: number;
        };
        Schedule: {
            id: string;
            task: string;
            enabled: boolean;
            timer: string;
            /** @description Any JSON */
            args: unknown;
            summary: string | null;
            /** @enum {string} */
            overlap: "skip" | "queue_one" | "replace" | "allow";
            catchUp: number;
            jitterMs: number;
            starts: string | null;
            ends: string | null;
            maxRuns: number | null;
            timeoutMs: number | null;
            maxRetries: number | null;
            retryDelayMs: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            /** @enum {string} */
            onExhausted: "continue" | "stop";
            /** @enum {string} */
            afterDone: "keep" | "delete";
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            status: "active" | "paused" | "done" | "dead" | "invalid" | "retired";
            nextRun: string | null;
            idle: ("done" | "dead" | "invalid" | "retired" | "awaiting finish") | null;
            declaredBy: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            created: string;
            lastSlot: string | null;
            runCount: number;
            errorCount: number;
            lastRun: string | null;
            lastFinished: string | null;
            lastJob: string | null;
            lastError: string | null;
            markedBy: string | null;
        };
        RecentRun: {
            id: string;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
            slot: string | null;
            started: string | null;
            finished: string | null;
        };
        ListedSchedule: {
            id: string;
            task: string;
            enabled: boolean;
            timer: string;
            /** @description Any JSON */
            args: unknown;
            summary: string | null;
            /** @enum {string} */
            overlap: "skip" | "queue_one" | "replace" | "allow";
            catchUp: number;
            jitterMs: number;
            starts: string | null;
            ends: string | null;
            maxRuns: number | null;
            timeoutMs: number | null;
            maxRetries: number | null;
            retryDelayMs: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            /** @enum {string} */
            onExhausted: "continue" | "stop";
            /** @enum {string} */
            afterDone: "keep" | "delete";
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            status: "active" | "paused" | "done" | "dead" | "invalid" | "retired";
            nextRun: string | null;
            idle: ("done" | "dead" | "invalid" | "retired" | "awaiting finish") | null;
            declaredBy: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            created: string;
            lastSlot: string | null;
            runCount: number;
            errorCount: number;
            lastRun: string | null;
            lastFinished: string | null;
            lastJob: string | null;
            lastError: string | null;
            markedBy: string | null;
            /** @description Large values that the list leaves out (null) or shortens (errors, to their first lines), with their size in bytes. GET of the row shows them. */
            truncated?: {
                [key: string]: number;
            };
            /** @description The timer in words; null when it cannot be read */
            timerDescription: string | null;
            /** @description Newest first, where asked for */
            runs?: components["schemas"]["RecentRun"][];
        };
        SchedulePage: {
            items: components["schemas"]["ListedSchedule"][];
            /** @description Of all pages */
            total: number;
            /** @description False: there are more, or there may be */
            totalIsExact: boolean;
        };
        Job: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeoutMs: number | null;
            maxRetries: number | null;
            retryDelayMs: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
            reason: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submitted: string;
            runAt: string | null;
            started: string | null;
            finished: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequested: string | null;
        };
        ListedJob: {
            id: string;
            scheduleId: string | null;
            slot: string | null;
            missed: number;
            run: number | null;
            task: string;
            /** @description Any JSON */
            args: unknown;
            timeoutMs: number | null;
            maxRetries: number | null;
            retryDelayMs: number | null;
            retryBackoff: ("exponential" | "fixed") | null;
            priority: number;
            group: string;
            submitter: string | null;
            subject: string | null;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
            reason: string | null;
            worker: string | null;
            attempt: number;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            submitted: string;
            runAt: string | null;
            started: string | null;
            finished: string | null;
            /** @description Any JSON */
            progress: unknown;
            /** @description Any JSON */
            result: unknown;
            error: string | null;
            stopRequested: string | null;
            /** @description Large values that the list leaves out (null) or shortens (errors, to their first lines), with their size in bytes. GET of the row shows them. */
            truncated?: {
                [key: string]: number;
            };
        };
        JobPage: {
            items: components["schemas"]["ListedJob"][];
            /** @description Of all pages */
            total: number;
            /** @description False: there are more, or there may be */
            totalIsExact: boolean;
        };
        History: {
            items: components["schemas"]["ListedJob"][];
        };
        JobReference: {
            job: string;
        };
        JobStateAnswer: {
            id: string;
            /** @enum {string} */
            state: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
        };
        JobsActionAnswer: {
            /** @description Jobs that match */
            matched: number;
            matchedIsExact: boolean;
            /** @description Their ids */
            changed: string[];
            refused: {
                id: string;
                detail: string;
            }[];
            /** @description There may be more of the filter: do it again */
            more: boolean;
        };
        Elapse: {
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            at: string;
            local: string;
        };
        Elapses: {
            zone: string;
            items: components["schemas"]["Elapse"][];
        };
        Explanation: {
            schedule: string;
            /** @enum {string} */
            status: "active" | "paused" | "done" | "dead" | "invalid" | "retired";
            nextRun: string | null;
            reasons: string[];
        };
        LogLines: {
            items: {
                /** @description For `after` */
                id: number;
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                at: string;
                /** @enum {string} */
                level: "debug" | "info" | "warn" | "error";
                message: string;
            }[];
        };
        ScheduleCounts: {
            counts: {
                [key: string]: number;
            };
            /** @description False: some are larger than said */
            isExact: boolean;
        };
        JobCounts: {
            counts: {
                [key: string]: number;
            };
            isExact: boolean;
        };
        Failures: {
            items: {
                /** @description The first line */
                error: string;
                jobs: number;
                tasks: string[];
                lastJob: string;
                lastFinished: string | null;
            }[];
            /** @description False: there are more, or there may be */
            complete: boolean;
        };
        Tasks: {
            items: {
                name: string;
                /** @description Live workers that run it */
                workers: number;
            }[];
        };
        Workers: {
            items: {
                id: string;
                name: string;
                host: string;
                pid: number;
                tasks: string[];
                sets: {
                    [key: string]: string;
                };
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                started: string;
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                heartbeat: string;
                silentMs: number;
                alive: boolean;
                running: number;
            }[];
        };
        TimerCheck: {
            /** @constant */
            valid: false;
            error: {
                /** @enum {string} */
                code: "CALENDAR_SYNTAX" | "CRON_SYNTAX" | "INVALID_TIME_SPAN";
                message: string;
                column: number | null;
                token: string | null;
                hint: string | null;
            };
        } | {
            /** @constant */
            valid: true;
            /** @enum {string} */
            kind: "calendar" | "cron" | "every" | "after finish";
            /** @description The normal form */
            text: string;
            zone: string;
            description: string;
            elapses: components["schemas"]["Elapse"][];
            warnings: string[];
            /** @description Of cron: the calendar events that elapse at the same times */
            events: string[];
        };
        Load: {
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            from: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            to: string;
            hours: {
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                hour: string;
                planned: number;
                ended: {
                    [key: string]: number;
                };
            }[];
            /** @description Active schedules that were counted */
            schedules: number;
            plannedIsExact: boolean;
            /** @description False: the first hours are missing */
            endedIsComplete: boolean;
        };
        Upcoming: {
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            from: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            to: string;
            items: {
                /**
                 * Format: date-time
                 * @description RFC 3339, in UTC
                 */
                at: string;
                schedule: string;
                task: string;
            }[];
            /** @description False: there are more */
            complete: boolean;
        };
        Me: {
            /** @enum {string} */
            role: "read" | "operate" | "admin";
            /** @description Whether you may submit jobs, and run a schedule with other args */
            submit: boolean;
            /** @description The tasks that you may write; null: all but the built-in ones */
            tasks: string[] | null;
            user: string | null;
            scope: {
                group: string | null;
                submitter: string | null;
            };
            /** @description Written into timers that name none */
            zone: string;
            /**
             * Format: date-time
             * @description RFC 3339, in UTC
             */
            now: string;
        };
        Health: {
            /** @description Whether it does its work */
            ok: boolean;
            /** @description False: it will not recover by itself, a new process is needed */
            live: boolean;
            worker?: string | null;
            running?: number;
            /** @description Runs that have ended, and whose end is not written */
            unwritten?: number;
            /** @description Of those, how many wait for a row that someone else has locked */
            locked?: number;
            /** @description Runs that have ended, and whose end the database rejects */
            rejected?: number;
            /** @description How far the machine's clock is ahead of the database's */
            clockAheadMs?: number | null;
            /** @description Why it is not ok */
            reasons?: {
                code: string;
                subject: string | null;
                text: string;
            }[];
            warnings?: {
                code: string;
                subject: string | null;
                text: string;
            }[];
            loops?: {
                name: string;
                lastGoodPass: string | null;
                busySince: string | null;
                busyMs: number | null;
                nextPass: string | null;
                lateMs: number;
                consecutiveErrors: number;
                lastError: string | null;
                lastErrorAt: string | null;
            }[];
        };
        Findings: {
            items: {
                code: string;
                /** @description At most ten */
                subjects: string[];
                count: number;
                problem: string;
                fix: string;
            }[];
        };
        /** @description RFC 9457 */
        ProblemDetails: {
            type: string;
            title: string;
            status: number;
            /** @description What was wrong and what to do */
            detail: string;
            code: string;
            /** @description The first field that is wrong */
            field?: string;
            errors?: {
                field: string;
                detail: string;
                column?: number | null;
                token?: string | null;
                hint?: string | null;
            }[];
            /** @description The job that is in the way */
            jobId?: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listSchedules: {
        parameters: {
            query?: {
                status?: "active" | "paused" | "done" | "dead" | "invalid" | "retired";
                task?: string;
                group?: string;
                submitter?: string;
                declaredBy?: string;
                /** @description Part of the id, summary, subject or task, in any case */
                text?: string;
                /** @description `nextRun`: what comes next first, without what has nothing to come */
                order?: "id" | "nextRun";
                /** @description Only ids after this one: the last of the page before */
                after?: string;
                /** @description With as many of the last runs of each schedule; limit at most 200 */
                runs?: number;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    createSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description It was there already, and says the same */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description It was made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    deleteSchedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Ids"];
            };
        };
        responses: {
            /** @description They are gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    putSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleInput"];
            };
        };
        responses: {
            /** @description The schedule as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description It was made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    deleteSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    changeSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChanges"];
            };
        };
        responses: {
            /** @description The schedule as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    pauseSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description It is not in the state for this */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    resumeSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description It is not in the state for this */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    resetSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description It is not in the state for this */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    runSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RunInput"];
            };
        };
        responses: {
            /** @description It was submitted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobReference"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    scheduleHistory: {
        parameters: {
            query?: {
                limit?: number;
                before?: string;
            };
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs and skips */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    scheduleElapses: {
        parameters: {
            query?: {
                limit?: number;
                after?: string;
            };
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Elapses */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Elapses"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    explainSchedule: {
        parameters: {
            query?: {
                at?: string;
            };
            header?: never;
            path: {
                /** @description Of your choosing, 1 to 190 characters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Reasons, the most telling first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                state?: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description Of your choosing, 1 to 190 characters */
                schedule?: string;
                /** @description The worker that runs it now */
                worker?: string;
                /** @description The beginning of the id */
                id?: string;
                /** @description Part of the error, in any case */
                error?: string;
                /** @description Part of the stored args, in any case */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
                /** @description Only ids before this one: the last of the page before; not with schedule, finishedFrom or finishedTo */
                before?: string;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    submitJob: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description It was there already, and is the same */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description It was submitted */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    jobLogs: {
        parameters: {
            query?: {
                limit?: number;
                after?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogLines"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its state now: `running` when it was asked to stop */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStateAnswer"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    cancelJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobsAction"];
            };
        };
        responses: {
            /** @description What was done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsActionAnswer"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its state now: `running` when it was asked to stop */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobStateAnswer"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description There is no such thing, or it belongs to others */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    retryJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobsAction"];
            };
        };
        responses: {
            /** @description What was done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobsActionAnswer"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Something is in the way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The body is not JSON */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    countSchedules: {
        parameters: {
            query?: {
                status?: "active" | "paused" | "done" | "dead" | "invalid" | "retired";
                task?: string;
                group?: string;
                submitter?: string;
                declaredBy?: string;
                /** @description Part of the id, summary, subject or task, in any case */
                text?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts, each up to 10,000 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleCounts"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    countJobs: {
        parameters: {
            query?: {
                state?: "waiting" | "blocked" | "running" | "success" | "failed" | "cancelled" | "skipped";
                task?: string;
                group?: string;
                submitter?: string;
                /** @description Of your choosing, 1 to 190 characters */
                schedule?: string;
                /** @description The worker that runs it now */
                worker?: string;
                /** @description The beginning of the id */
                id?: string;
                /** @description Part of the error, in any case */
                error?: string;
                /** @description Part of the stored args, in any case */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts, each up to 10,000; with a filter, of the newest 100,000 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCounts"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listFailures: {
        parameters: {
            query?: {
                task?: string;
                group?: string;
                submitter?: string;
                /** @description Of your choosing, 1 to 190 characters */
                schedule?: string;
                /** @description The worker that runs it now */
                worker?: string;
                /** @description The beginning of the id */
                id?: string;
                /** @description Part of the error, in any case */
                error?: string;
                /** @description Part of the stored args, in any case */
                args?: string;
                finishedFrom?: string;
                finishedTo?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Errors */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failures"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tasks, by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tasks"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Workers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workers"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Findings; none when all is well */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Findings"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    checkTimer: {
        parameters: {
            query: {
                timer: string;
                /** @description Written into a timer that names none; default: the server's */
                zone?: string;
                after?: string;
                /** @description Where the slots of `every` begin: the creation of the schedule */
                anchor?: string;
                /** @description Elapses; default 10 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The error, or the meaning */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimerCheck"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getLoad: {
        parameters: {
            query?: {
                /** @description Rounded down to the hour; default the current hour */
                from?: string;
                /** @description Default 168 */
                hours?: number;
                task?: string;
                group?: string;
                submitter?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Hours */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Load"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    listUpcoming: {
        parameters: {
            query?: {
                /** @description Default now */
                from?: string;
                /** @description Default an hour after `from`; at most 31 days */
                to?: string;
                limit?: number;
                task?: string;
                group?: string;
                submitter?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Elapses of active schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upcoming"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Role, scope and the zone of the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    followChanges: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream without end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The same user, or address, follows too often already */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format of Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description prom-client is not installed */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description It does not */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It could */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description It needs to be started anew */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    getDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description The request cannot be read, or is made in the wrong state */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Nobody has signed in */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description A field is wrong */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many sign-ins from this address have failed */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description The database does not answer just now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
}
